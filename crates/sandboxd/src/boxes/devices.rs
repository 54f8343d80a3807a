//! `/dev` of a box: harmless devices, terminals and shared memory of its own.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;

use nix::mount::{MsFlags, mount};

use super::root::{bind, mounted};

/// Device nodes taken from the host; making new ones is what a box must not do.
const NODES: &[&str] = &["full", "null", "random", "tty", "urandom", "zero"];

/// Names that every Linux has (`man 4 fd`).
const LINKS: &[(&str, &str)] = &[
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];

/// Fills `dev`, a directory of the new root.
///
/// # Errors
/// The step that failed, in words.
pub fn fill(dev: &Path) -> Result<(), String> {
    let none: Option<&str> = None;
    mounted(dev, mount(Some("tmpfs"), dev, Some("tmpfs"), MsFlags::MS_NOSUID, Some("mode=755,size=64k")))?;
    for name in NODES {
        let node = dev.join(name);
        File::create(&node).map_err(|error| format!("{}: {error}", node.display()))?;
        bind(&Path::new("/dev").join(name), &node)?;
    }
    for (name, to) in LINKS {
        symlink(to, dev.join(name)).map_err(|error| format!("/dev/{name}: {error}"))?;
    }
    for name in ["pts", "shm"] {
        fs::create_dir(dev.join(name)).map_err(|error| format!("/dev/{name}: {error}"))?;
    }
    let pts = dev.join("pts");
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC;
    mounted(&pts, mount(Some("devpts"), &pts, Some("devpts"), flags, Some("newinstance,ptmxmode=0666,mode=0620")))?;
    let shm = dev.join("shm");
    mounted(
        &shm,
        mount(Some("tmpfs"), &shm, Some("tmpfs"), MsFlags::MS_NOSUID | MsFlags::MS_NODEV, Some("mode=1777")),
    )?;
    // Nothing is made here any more.
    mounted(
        dev,
        mount(none, dev, none, MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY | MsFlags::MS_NOSUID, none),
    )
}
