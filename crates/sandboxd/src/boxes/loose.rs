//! A box without isolation: the daemon as an ordinary child, ended with all its descendants.

use std::collections::HashSet;
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;

use super::monitor::Inherited;
use super::{Plan, control};

/// How often exits are looked for; orphans that become our children may wait that long for being reaped.
const LOOK_MS: u16 = 100;

/// Runs the daemon until it or the control socket ends, then ends whatever it has started.
///
/// # Errors
/// The step that failed, in words.
pub fn run(plan: &Plan, inherited: &mut Inherited) -> Result<(), String> {
    // Descendants that daemonize come to us, so that they can be found.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).map_err(|error| error.to_string())?;
    let listener = rustix::io::dup(&inherited.listener).map_err(|error| error.to_string())?;
    let child = Command::new("/proc/self/exe")
        .arg0("envd")
        .args(plan.daemon_arguments(listener.as_raw_fd()))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .map_err(|error| format!("cannot start the sandbox daemon: {error}"))?;
    drop(listener);
    let daemon = Pid::from_raw(i32::try_from(child.id()).map_err(|error| error.to_string())?);
    writeln!(inherited.control, "{}", control::READY).map_err(|error| error.to_string())?;
    let mut over = false;
    while !over {
        let mut fds = [PollFd::new(inherited.control.as_fd(), PollFlags::empty())];
        let looked = poll(&mut fds, PollTimeout::from(LOOK_MS));
        over = looked.is_ok_and(|count| count > 0) || reap(daemon);
    }
    end_descendants();
    Ok(())
}

/// Collects exited children; true when `daemon` was among them.
fn reap(daemon: Pid) -> bool {
    while let Ok(status) = waitid(Id::All, WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG) {
        if status == WaitStatus::StillAlive {
            return false;
        }
        if status.pid() == Some(daemon) {
            return true;
        }
    }
    false
}

/// Kills generation after generation: killing a parent turns its children into ours.
fn end_descendants() {
    loop {
        let family = descendants();
        if family.is_empty() {
            return;
        }
        for pid in family {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
        // At least one child of ours is dying: wait for it, then look again.
        let _ = waitid(Id::All, WaitPidFlag::WEXITED);
    }
}

/// Every living or unreaped process below this one.
fn descendants() -> HashSet<i32> {
    let mut found = HashSet::new();
    let mut open = vec![std::process::id().cast_signed()];
    while let Some(pid) = open.pop() {
        let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else { continue };
        for thread in threads.flatten() {
            let Ok(text) = std::fs::read_to_string(thread.path().join("children")) else { continue };
            for child in text.split_whitespace().filter_map(|word| word.parse::<i32>().ok()) {
                if found.insert(child) {
                    open.push(child);
                }
            }
        }
    }
    found
}
