//! What a child of macOS does. Its C library's wrappers used here are system calls and nothing else.

use std::ffi::c_int;
use std::io;
use std::os::fd::RawFd;

use super::Settings;

/// Room for descriptors that other threads open between the count and the fork.
const SPARE: usize = 256;

impl Settings {
    /// What the child applies.
    pub(crate) fn ready(&self) -> Ready {
        Ready(*self)
    }
}

/// Settings in a form that needs no memory to apply.
pub(crate) struct Ready(Settings);

impl Ready {
    /// Applies them to this process. Async-signal-safe calls only.
    pub(super) fn apply(&self) {
        super::limit_open_files(&self.0);
    }
}

/// Gives every signal its default disposition.
pub(crate) fn default_signals() {
    // SAFETY: all zero is a valid sigaction: SIG_DFL, no flags, an empty mask. SIGKILL and SIGSTOP answer EINVAL, which is fine.
    // sigaction is async-signal-safe.
    unsafe {
        let action: libc::sigaction = std::mem::zeroed();
        for signal in 1..=crate::signals::LAST {
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
}

/// Unblocks all signals; what is pending arrives now.
pub(crate) fn empty_mask() {
    // SAFETY: both fill or read the one set; async-signal-safe.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}

/// Memory for the list of this process' open descriptors, taken before the fork: there is no call that closes all of them.
pub(crate) struct OpenFiles(Vec<libc::proc_fdinfo>);

impl OpenFiles {
    /// Room for those that are open now, and some more.
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: without a buffer it says how many bytes the list takes.
        let bytes = unsafe { list(std::ptr::null_mut(), 0) };
        let count = usize::try_from(bytes).map_err(|_| io::Error::last_os_error())? / size_of::<libc::proc_fdinfo>();
        let mut room = Vec::new();
        room.resize_with(count + SPARE, || libc::proc_fdinfo { proc_fd: -1, proc_fdtype: 0 });
        Ok(Self(room))
    }

    /// Marks every descriptor from 3 on close-on-exec. Async-signal-safe.
    pub(crate) fn close_on_exec(&mut self) {
        let room = size_of_val(self.0.as_slice());
        // SAFETY: the kernel fills at most so many bytes of the vector's own; it is one system call.
        let bytes = unsafe { list(self.0.as_mut_ptr(), c_int::try_from(room).unwrap_or(c_int::MAX)) };
        let filled = usize::try_from(bytes).unwrap_or(room);
        if bytes < 0 || filled >= room {
            // More than there is room for, or not told: one by one, as far as descriptors can go.
            // SAFETY: takes nothing; async-signal-safe.
            let last = unsafe { libc::getdtablesize() };
            return (3..last).for_each(mark);
        }
        for file in self.0.iter().take(filled / size_of::<libc::proc_fdinfo>()).filter(|file| file.proc_fd >= 3) {
            mark(file.proc_fd);
        }
    }
}

/// # Safety
/// `buffer` must have room for `size` bytes.
unsafe fn list(buffer: *mut libc::proc_fdinfo, size: c_int) -> c_int {
    // SAFETY: of the caller; the number is this process' own.
    unsafe { libc::proc_pidinfo(libc::getpid(), libc::PROC_PIDLISTFDS, 0, buffer.cast(), size) }
}

fn mark(descriptor: RawFd) {
    // SAFETY: numbers only; one that is not open answers EBADF. Async-signal-safe.
    unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
}

pub(crate) fn errno() -> i32 {
    // SAFETY: the address of this thread's errno.
    unsafe { *libc::__error() }
}
