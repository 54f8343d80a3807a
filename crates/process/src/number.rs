//! Whether a process number is taken.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::OnceLock;

use rustix::process::Pid;

use crate::stdio;

/// Whether `number` is anybody's: a process', a group's or a session's, zombies included. False is certain; true may also mean
/// that it could not be learned.
///
/// Costs one system call, where a pass over `/proc` costs thousands: so it says cheaply that a session without its leader is
/// empty. The kernel hands a number out again only when nobody is left who has it in any of these roles.
pub fn is_taken(number: Pid) -> bool {
    static ANY: OnceLock<Option<OwnedFd>> = OnceLock::new();
    let Some(any) = ANY.get_or_init(|| stdio::null().ok()) else { return true };
    // SAFETY: fcntl with numbers on an open descriptor. The owner of a file that never signals anybody is of no consequence;
    // the kernel refuses one that does not exist (since 4.13; before, it is never refused, which is "could not be learned").
    let set = unsafe { libc::fcntl(any.as_raw_fd(), libc::F_SETOWN, -number.as_raw_pid()) };
    set == 0 || std::io::Error::last_os_error().raw_os_error() != Some(libc::ESRCH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit;
    use crate::testing::{Fixture, wait_for};

    #[test]
    fn c31_a_number_is_taken_as_long_as_anybody_is_in_the_session_and_then_free() {
        // A subreaper, so that the survivor does not become a zombie of an init that reaps when it likes.
        crate::orphans::become_subreaper().unwrap();
        let leader = Fixture::shell("set -m; sleep 60 & exit 0");
        let pid = leader.pid;
        leader.wait_until_ended();
        assert!(is_taken(pid), "a zombie leader");
        exit::reap(pid).unwrap();
        assert!(is_taken(pid), "a member in a group of its own");
        let member = crate::session::members(pid).unwrap().remove(0);
        member.pidfd.send(libc::SIGKILL).unwrap();
        let orphan = Pid::from_raw(member.stat.pid).unwrap();
        exit::reap_blocking(orphan).unwrap();
        wait_for("a free number", || !is_taken(pid));
    }
}
