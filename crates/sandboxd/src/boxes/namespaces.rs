//! Entering the namespaces of a box.

use std::fs;
use std::io;

use nix::sched::{CloneFlags, unshare};

use super::{Isolation, Plan, shared};

/// Leaves the host's namespaces, except the mount namespace: the monitor still has to see the box' directory from
/// outside. What the caller forks next is pid 1 of the box.
///
/// # Errors
/// The step that failed, in words.
pub fn leave_host(plan: &Plan) -> Result<(), String> {
    let mut flags = CloneFlags::CLONE_NEWPID | CloneFlags::CLONE_NEWIPC | CloneFlags::CLONE_NEWUTS;
    if plan.isolation == Isolation::OneUser {
        flags |= CloneFlags::CLONE_NEWUSER;
    }
    let (uid, gid) = (nix::unistd::geteuid(), nix::unistd::getegid());
    unshare(flags).map_err(|error| format!("unshare({flags:?}): {error}"))?;
    if plan.isolation == Isolation::OneUser {
        // To id 0 first: the kernel wants one for the terminals' file system. Pid 1 maps back when all is mounted.
        map(0, uid.as_raw(), 0, gid.as_raw()).map_err(|error| format!("id map: {error}"))?;
    }
    nix::unistd::sethostname(shared::HOSTNAME).map_err(|error| format!("sethostname: {error}"))
}

/// Gives the processes of the box a mount namespace, whose changes stay inside.
///
/// # Errors
/// The step that failed, in words.
pub fn own_mounts() -> Result<(), String> {
    unshare(CloneFlags::CLONE_NEWNS).map_err(|error| format!("unshare(mounts): {error}"))?;
    let none: Option<&str> = None;
    nix::mount::mount(none, "/", none, nix::mount::MsFlags::MS_REC | nix::mount::MsFlags::MS_PRIVATE, none)
        .map_err(|error| format!("private mounts: {error}"))
}

/// Turns the mapped root of [`leave_host`] into the one user of the box. Mounts of before are locked from now on.
///
/// # Errors
/// The step that failed, in words.
pub fn become_user(plan: &Plan) -> Result<(), String> {
    unshare(CloneFlags::CLONE_NEWUSER).map_err(|error| format!("unshare(user): {error}"))?;
    map(plan.uid, 0, plan.gid, 0).map_err(|error| format!("id map: {error}"))
}

/// One id inside for one id outside: all that the kernel grants without privileges.
fn map(uid: u32, outer_uid: u32, gid: u32, outer_gid: u32) -> io::Result<()> {
    // Groups could otherwise be dropped to get past a file that denies one (user_namespaces(7)).
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{uid} {outer_uid} 1"))?;
    fs::write("/proc/self/gid_map", format!("{gid} {outer_gid} 1"))
}
