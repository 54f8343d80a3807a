//! By the process' number and its start, and a kernel queue that tells its end.
//!
//! macOS has no descriptor of a process. Its start, to the microsecond, tells it from a later one of the same number; that is asked
//! for right before a signal is sent, which leaves a moment, but numbers are handed out in turn, not anew at once.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use rustix::process::Pid;

use crate::table;

/// A held process, and a descriptor that is readable once it has ended.
#[derive(Debug)]
pub struct PidFd {
    pid: Pid,
    start_time: u64,
    queue: OwnedFd,
}

/// A queue for one process, so that nothing can fail for want of descriptors once that runs.
pub(crate) fn queue() -> io::Result<OwnedFd> {
    // SAFETY: takes nothing.
    let queue = unsafe { libc::kqueue() };
    if queue < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor for us.
    let queue = unsafe { OwnedFd::from_raw_fd(queue) };
    rustix::io::fcntl_setfd(&queue, rustix::io::FdFlags::CLOEXEC)?;
    Ok(queue)
}

impl PidFd {
    /// Holds the process that has number `pid` now; a zombie counts. `ESRCH` when there is none.
    pub fn open(pid: Pid) -> io::Result<Self> {
        Self::on(queue()?, pid)
    }

    /// As [`PidFd::open`], with a descriptor from [`queue`].
    pub(crate) fn on(queue: OwnedFd, pid: Pid) -> io::Result<Self> {
        let start_time = table::stat(pid)?.start_time;
        match add(&queue, pid.as_raw_pid().cast_unsigned() as usize, libc::EVFILT_PROC, libc::NOTE_EXIT) {
            // It has ended already, and that is all that will ever be said of it.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {
                add(&queue, 0, libc::EVFILT_USER, 0)?;
                trigger(&queue)?;
            }
            result => result?,
        }
        let held = Self { pid, start_time, queue };
        match table::stat(pid) {
            // The queue is about a later one.
            Ok(now) if now.start_time != start_time => Err(io::Error::from_raw_os_error(libc::ESRCH)),
            _ => Ok(held),
        }
    }

    /// Whether it still runs.
    pub fn is_alive(&self) -> bool {
        match table::stat(self.pid) {
            Ok(now) => now.start_time == self.start_time && now.state != b'Z',
            // Any other error means that nothing could be learned; then it is not known to be gone.
            Err(error) => error.raw_os_error() != Some(libc::ESRCH),
        }
    }

    /// Sends signal `number`; 0 only asks whether one may be sent. `ESRCH` when the process was reaped, `EPERM` when it
    /// belongs to another user.
    pub fn send(&self, number: i32) -> io::Result<()> {
        if table::stat(self.pid)?.start_time != self.start_time {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        // SAFETY: takes numbers, and the first is of one process, never of a group or of everybody.
        match unsafe { libc::kill(self.pid.as_raw_pid(), number) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// The descriptor itself.
    pub fn into_owned(self) -> OwnedFd {
        self.queue
    }
}

impl AsFd for PidFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.queue.as_fd()
    }
}

fn add(queue: &OwnedFd, ident: usize, filter: i16, notes: u32) -> io::Result<()> {
    change(queue, ident, filter, libc::EV_ADD, notes)
}

fn trigger(queue: &OwnedFd) -> io::Result<()> {
    change(queue, 0, libc::EVFILT_USER, 0, libc::NOTE_TRIGGER)
}

/// Nothing is ever taken out of the queue, so it stays readable from the first event on.
fn change(queue: &OwnedFd, ident: usize, filter: i16, flags: u16, fflags: u32) -> io::Result<()> {
    let event = libc::kevent { ident, filter, flags, fflags, data: 0, udata: std::ptr::null_mut() };
    // SAFETY: one change is read from memory of ours, and no event is asked for.
    let result =
        unsafe { libc::kevent(queue.as_raw_fd(), &raw const event, 1, std::ptr::null_mut(), 0, std::ptr::null()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
