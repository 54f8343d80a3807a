//! Whether a process number is taken.

use rustix::process::Pid;

#[cfg(target_os = "linux")]
mod linux;

/// Whether `number` is anybody's: a process', a group's or a session's, zombies included. False is certain; true may also mean
/// that it could not be learned.
///
/// On Linux this costs one system call, where a pass over all processes costs thousands: so it says cheaply that a session without
/// its leader is empty. The kernel hands a number out again only when nobody is left who has it in any of these roles. macOS has
/// no such question: there it is never learned, and the pass must be made.
pub fn is_taken(number: Pid) -> bool {
    #[cfg(target_os = "linux")]
    return linux::is_taken(number);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = number;
        true
    }
}

/// Whether `number` is certainly somebody's.
pub fn is_surely_taken(number: Pid) -> bool {
    #[cfg(target_os = "linux")]
    return linux::can_be_learned() && linux::is_taken(number);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = number;
        false
    }
}

#[cfg(all(test, target_os = "linux"))]
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
        assert!(is_taken(pid) && is_surely_taken(pid), "a zombie leader");
        exit::reap(pid).unwrap();
        assert!(is_taken(pid), "a member in a group of its own");
        let member = crate::session::members(pid).unwrap().remove(0);
        member.pidfd.send(libc::SIGKILL).unwrap();
        let orphan = Pid::from_raw(member.stat.pid).unwrap();
        exit::reap_blocking(orphan).unwrap();
        wait_for("a free number", || !is_taken(pid));
    }
}
