//! What a box sees of files.
//!
//! `/` is a directory of the box' own on the state directory's disk, writable like any machine's. Programs come from the
//! host, read-only and with set-uid bits and devices switched off: `/usr`, `/bin`, `/lib*`, `/sbin`, `/opt`, `/etc`
//! and what the service was told to show. Account, name and password files of `/etc` are replaced. Everything else of the
//! host is absent: its homes, `/var`, `/run`, `/root`, its other mounts.

use std::ffi::CString;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use nix::mount::{MntFlags, MsFlags, mount, umount2};

use super::{Isolation, Plan, devices};

/// The host's directories with programs and their data.
const PROGRAMS: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/etc", "/nix/store", "/gnu/store"];

/// Files of `/etc` that a box has of its own.
const OWN: &[&str] = &["passwd", "group", "hosts", "hostname", "resolv.conf"];

/// Files of `/etc` that are nobody's business inside.
const SECRET: &[&str] =
    &["shadow", "shadow-", "gshadow", "gshadow-", "passwd-", "group-", "sudoers", "krb5.keytab", "machine-id"];

/// Parts of `/proc` that steer the whole machine.
const KERNEL: &[&str] = &["sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi"];

/// Names a failed mount.
///
/// # Errors
/// The failure, with its place.
pub fn mounted(at: &Path, result: nix::Result<()>) -> Result<(), String> {
    result.map_err(|error| format!("mount {}: {error}", at.display()))
}

/// Shows `from` at `to`, submounts included.
///
/// # Errors
/// The failure, with its place.
pub fn bind(from: &Path, to: &Path) -> Result<(), String> {
    let none: Option<&str> = None;
    mounted(to, mount(Some(from), to, none, MsFlags::MS_BIND | MsFlags::MS_REC, none))
}

/// Makes the mounts at and below `at` read-only and takes devices and set-uid from them.
fn harden(at: &Path) -> Result<(), String> {
    let path = CString::new(at.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
    let wanted = libc::mount_attr {
        attr_set: libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV,
        attr_clr: 0,
        propagation: 0,
        userns_fd: 0,
    };
    // SAFETY: the path is a C string and the structure has the size that is passed; the kernel only reads both.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            libc::AT_RECURSIVE,
            &raw const wanted,
            size_of::<libc::mount_attr>(),
        )
    };
    if result == 0 {
        return Ok(());
    }
    Err(format!("mount_setattr {} (Linux 5.12 or later): {}", at.display(), std::io::Error::last_os_error()))
}

/// Checks that boxes will not see the state directory: the files of all boxes would be readable in each.
///
/// # Errors
/// When it lies in a shown directory.
pub fn check_state(state: &Path, show: &[PathBuf]) -> std::io::Result<()> {
    let mut shown = PROGRAMS.iter().map(Path::new).chain(show.iter().map(PathBuf::as_path));
    match shown.find(|shown| state.starts_with(shown)) {
        Some(shown) => Err(std::io::Error::other(format!(
            "the state directory {} lies in {}, which sandboxes see",
            state.display(),
            shown.display()
        ))),
        None => Ok(()),
    }
}

/// The place in `root` of an absolute path.
fn inside(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

/// Shows a path of the host at the same place, read-only; what the host does not have is left out.
fn show(root: &Path, path: &Path) -> Result<(), String> {
    let Ok(facts) = fs::symlink_metadata(path) else { return Ok(()) };
    let to = inside(root, path);
    let words = |error: std::io::Error| format!("{}: {error}", to.display());
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent).map_err(words)?;
    }
    if facts.is_symlink() {
        let target = fs::read_link(path).map_err(words)?;
        return symlink(target, &to).map_err(words);
    }
    if facts.is_dir() {
        fs::create_dir_all(&to).map_err(words)?;
    } else {
        File::create(&to).map_err(words)?;
    }
    bind(path, &to)?;
    harden(&to)
}

/// Replaces files of `/etc`.
fn replace_names(root: &Path, plan: &Plan) -> Result<(), String> {
    let own = plan.shared.join("etc");
    for name in OWN {
        let at = root.join("etc").join(name);
        match fs::symlink_metadata(&at) {
            Ok(facts) if facts.is_file() => bind(&own.join(name), &at)?,
            // A link into /run or the like: its target is made instead.
            Ok(facts) if facts.is_symlink() => place(root, &root.join("etc"), &at, &own.join(name)),
            _ => {}
        }
    }
    for name in SECRET {
        let at = root.join("etc").join(name);
        if fs::symlink_metadata(&at).is_ok_and(|facts| facts.is_file()) {
            bind(&own.join("empty"), &at)?;
        }
    }
    Ok(())
}

/// Copies `from` to where the link `at` points, if that lies in the writable part of the root. A box without name
/// resolution is better than none, so failures are passed over.
fn place(root: &Path, dir: &Path, at: &Path, from: &Path) {
    let Ok(target) = fs::read_link(at) else { return };
    let target = if target.is_absolute() { inside(root, &target) } else { dir.join(target) };
    let _ = target.parent().map(fs::create_dir_all);
    let _ = fs::copy(from, target);
}

/// Lays the shared programs over `/usr/local/bin`.
fn show_programs(root: &Path, plan: &Plan) -> Result<(), String> {
    let at = root.join("usr/local/bin");
    if !at.is_dir() {
        return Ok(());
    }
    let bin = plan.shared.join("bin");
    let text = bin.display().to_string();
    let option =
        format!("lowerdir={}:{}", text.replace('\\', "\\\\").replace(':', "\\:").replace(',', "\\,"), at.display());
    let overlay =
        mount(Some("overlay"), &at, Some("overlay"), MsFlags::MS_RDONLY | MsFlags::MS_NODEV, Some(option.as_str()));
    // Hosts that already stack overlays refuse another one; then the host's own programs there are hidden.
    if overlay.is_err() { bind(&bin, &at) } else { Ok(()) }
}

/// The process file system, without the switches of the machine.
fn processes(root: &Path, plan: &Plan) -> Result<(), String> {
    let proc = root.join("proc");
    let none: Option<&str> = None;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mounted(&proc, mount(Some("proc"), &proc, Some("proc"), flags, none))?;
    // In a user namespace nobody is root of the machine: its own checks are enough.
    if plan.isolation == Isolation::TwoUsers {
        for name in KERNEL {
            let at = proc.join(name);
            if at.exists() {
                bind(&at, &at)?;
                harden(&at)?;
            }
        }
        for name in ["kcore", "kmsg", "keys"] {
            let at = proc.join(name);
            if at.exists() {
                bind(Path::new("/dev/null"), &at)?;
            }
        }
    }
    Ok(())
}

/// Builds the root of `plan` in the caller's mount namespace and makes it `/`. To be called in the box' pid namespace.
///
/// # Errors
/// The step that failed, in words.
pub fn enter(plan: &Plan) -> Result<(), String> {
    let root = plan.root();
    bind(&root, &root)?;
    for path in PROGRAMS.iter().map(Path::new).chain(plan.show.iter().map(PathBuf::as_path)) {
        show(&root, path)?;
    }
    replace_names(&root, plan)?;
    show_programs(&root, plan)?;
    devices::fill(&root.join("dev"))?;
    processes(&root, plan)?;
    let sys = root.join("sys");
    bind(Path::new("/sys"), &sys)?;
    harden(&sys)?;

    std::env::set_current_dir(&root).map_err(|error| error.to_string())?;
    // Old root on top of the new one, then away with it: needs no directory for it (pivot_root(2)).
    nix::unistd::pivot_root(".", ".").map_err(|error| format!("pivot_root: {error}"))?;
    umount2(".", MntFlags::MNT_DETACH).map_err(|error| format!("umount of the old root: {error}"))?;
    std::env::set_current_dir("/").map_err(|error| error.to_string())
}
