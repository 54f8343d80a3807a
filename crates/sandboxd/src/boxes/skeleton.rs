//! The directories of a new box, before anything is mounted into them.
//!
//! They lie on the disk of the state directory, `/tmp` and `/home/user` included: what a sandbox writes must not
//! eat the host's memory, and extended attributes must work.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;

use super::{Isolation, Plan};

/// Directories of the box with their modes.
const DIRECTORIES: &[(&str, u32)] = &[
    ("dev", 0o755),
    ("etc", 0o755),
    ("home", 0o755),
    ("home/user", 0o755),
    ("media", 0o755),
    ("mnt", 0o755),
    ("proc", 0o555),
    ("root", 0o700),
    ("run", 0o755),
    ("run/lock", 0o1777),
    ("srv", 0o755),
    ("sys", 0o555),
    ("tmp", 0o1777),
    ("var", 0o755),
    ("var/cache", 0o755),
    ("var/lib", 0o755),
    ("var/log", 0o755),
    ("var/spool", 0o755),
    ("var/tmp", 0o1777),
];

/// Makes the tree of `plan` and writes the plan beside it.
///
/// # Errors
/// When the directory cannot be made.
pub fn make(plan: &Plan) -> io::Result<()> {
    let root = plan.root();
    fs::create_dir_all(&root)?;
    fs::set_permissions(&root, fs::Permissions::from_mode(0o755))?;
    for (name, mode) in DIRECTORIES {
        let path = root.join(name);
        fs::create_dir(&path)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(*mode))?;
    }
    symlink("/run", root.join("var/run"))?;
    symlink("/run/lock", root.join("var/lock"))?;
    home(&root.join("home/user"), plan)?;
    plan.write()
}

/// A home like the one that `useradd -m` makes.
fn home(home: &Path, plan: &Plan) -> io::Result<()> {
    if let Ok(skeleton) = fs::read_dir("/etc/skel") {
        for entry in skeleton.flatten().filter(|entry| entry.path().is_file()) {
            let to = home.join(entry.file_name());
            fs::copy(entry.path(), &to)?;
            own(&to, plan)?;
        }
    }
    own(home, plan)
}

/// Gives a path to the box' `user`; where that is the caller, it has it already.
fn own(path: &Path, plan: &Plan) -> io::Result<()> {
    if plan.isolation == Isolation::TwoUsers { chown(path, Some(plan.uid), Some(plan.gid)) } else { Ok(()) }
}
