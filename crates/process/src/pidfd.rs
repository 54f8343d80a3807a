//! A process by identity rather than by number.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags};

/// A descriptor of one process; readable once the process, all threads of it, has ended.
#[derive(Debug)]
pub struct PidFd(OwnedFd);

impl PidFd {
    /// Opens the process that has number `pid` now; a zombie counts. `ESRCH` when there is none.
    pub fn open(pid: Pid) -> io::Result<Self> {
        Ok(Self(rustix::process::pidfd_open(pid, PidfdFlags::empty())?))
    }

    /// Whether it still runs. The state letter of `/proc` says zombie already when only the main thread has left.
    pub fn is_alive(&self) -> bool {
        let mut set = [PollFd::new(&self.0, PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        // An error means that nothing could be learned; then it is not known to be gone.
        !matches!(poll(&mut set, Some(&now)), Ok(ready) if ready > 0)
    }

    /// Sends signal `number`; 0 only asks whether one may be sent. `ESRCH` when the process was reaped, `EPERM` when it
    /// belongs to another user.
    pub fn send(&self, number: i32) -> io::Result<()> {
        let info = std::ptr::null::<libc::siginfo_t>();
        // SAFETY: numbers and a null pointer; the descriptor is open. The raw call: the wrapper's type has no 0 and no
        // real-time signals.
        match unsafe { libc::syscall(libc::SYS_pidfd_send_signal, self.0.as_raw_fd(), number, info, 0) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// The descriptor itself.
    pub fn into_owned(self) -> OwnedFd {
        self.0
    }
}

impl From<OwnedFd> for PidFd {
    fn from(descriptor: OwnedFd) -> Self {
        Self(descriptor)
    }
}

impl AsFd for PidFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fixture;

    #[test]
    fn a_process_is_alive_until_it_ended_and_a_zombie_is_not() {
        let child = Fixture::shell("sleep 60");
        let pidfd = PidFd::open(child.pid).unwrap();
        assert!(pidfd.is_alive());
        pidfd.send(libc::SIGKILL).unwrap();
        child.wait_until_ended();
        assert!(!pidfd.is_alive());
    }

    #[test]
    fn c31_a_process_whose_main_thread_left_is_alive_though_its_state_says_zombie() {
        let script = "import ctypes, threading, time\n\
            threading.Thread(target=lambda: time.sleep(60)).start()\n\
            ctypes.CDLL(None).syscall(60 if __import__('platform').machine() == 'x86_64' else 93, 0)";
        let child = Fixture::run(&["/usr/bin/env", "python3", "-c", script]);
        let pidfd = PidFd::open(child.pid).unwrap();
        child.wait_for("the state letter Z", || crate::procfs::stat(child.pid).unwrap().state == b'Z');
        assert!(pidfd.is_alive());
        pidfd.send(libc::SIGKILL).unwrap();
        child.wait_until_ended();
    }
}
