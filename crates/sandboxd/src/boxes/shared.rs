//! Files that all boxes of one service share: account files, name files, and small programs.
//!
//! ```text
//! SHARED/etc/{passwd,group,hosts,hostname,resolv.conf,empty}   laid over the host's
//! SHARED/bin/{sudo,python}                                     shown in /usr/local/bin
//! ```

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::{Isolation, accounts};

/// The host name inside; also what E2B's own sandboxes call themselves.
pub const HOSTNAME: &str = "e2b.local";

/// Writes the shared files below `dir` for boxes whose `user` has the ids `uid` and `gid`.
///
/// # Errors
/// When `dir` cannot be written.
pub fn prepare(dir: &Path, isolation: Isolation, uid: u32, gid: u32) -> io::Result<()> {
    let etc = dir.join("etc");
    fs::create_dir_all(&etc)?;
    let shell = if Path::new("/bin/bash").exists() { "/bin/bash" } else { "/bin/sh" };
    let host = |name: &str| fs::read_to_string(Path::new("/etc").join(name)).unwrap_or_default();
    fs::write(etc.join("passwd"), accounts::passwd(&host("passwd"), isolation, uid, gid, shell))?;
    fs::write(etc.join("group"), accounts::group(&host("group"), isolation, gid))?;
    fs::write(etc.join("hosts"), format!("127.0.0.1 localhost {HOSTNAME}\n::1 localhost ip6-localhost\n"))?;
    fs::write(etc.join("hostname"), format!("{HOSTNAME}\n"))?;
    // Often a link into /run, which the box does not see.
    fs::write(etc.join("resolv.conf"), host("resolv.conf"))?;
    fs::write(etc.join("empty"), "")?;
    for file in fs::read_dir(&etc)? {
        fs::set_permissions(file?.path(), fs::Permissions::from_mode(0o644))?;
    }
    programs(&dir.join("bin"), isolation)
}

fn programs(bin: &Path, isolation: Isolation) -> io::Result<()> {
    fs::create_dir_all(bin)?;
    // A real `sudo` of the host would ask the host's sudoers file, and its set-uid bit is switched off inside.
    let sudo = bin.join("sudo");
    fs::copy("/proc/self/exe", &sudo)?;
    let mode = if isolation == Isolation::TwoUsers { 0o4755 } else { 0o755 };
    fs::set_permissions(&sudo, fs::Permissions::from_mode(mode))?;
    let python = bin.join("python");
    if let (None, Some(python3)) = (find("python"), find("python3"))
        && !python.exists()
    {
        symlink(python3, python)?;
    }
    Ok(())
}

/// A program in the directories that every box sees.
fn find(name: &str) -> Option<PathBuf> {
    ["/usr/local/bin", "/usr/bin", "/bin"].iter().map(|dir| Path::new(dir).join(name)).find(|path| path.exists())
}
