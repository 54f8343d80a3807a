//! By the kernel's own descriptor of a process.

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

    /// Whether its number may be another's by now: somebody has taken note of its end.
    pub fn is_reaped(&self) -> bool {
        self.send(0).is_err_and(|error| error.raw_os_error() == Some(libc::ESRCH))
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
