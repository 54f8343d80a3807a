//! What a child of Linux does with raw system calls.

use std::os::fd::RawFd;

use super::Settings;

impl Settings {
    /// What the child applies, made before the fork.
    pub(crate) fn ready(&self) -> Ready {
        Ready { settings: *self, oom: self.oom_text() }
    }

    /// The score as the text that the kernel wants.
    fn oom_text(&self) -> OomText {
        let mut text = OomText { bytes: [0; 8], length: 0 };
        if let Some(score) = self.oom_score_adj {
            let digits = score.to_string();
            text.bytes[..digits.len()].copy_from_slice(digits.as_bytes());
            text.length = digits.len();
        }
        text
    }
}

/// A short decimal number in fixed memory.
#[derive(Clone, Copy)]
struct OomText {
    bytes: [u8; 8],
    length: usize,
}

/// Settings in a form that needs no memory to apply.
pub(crate) struct Ready {
    settings: Settings,
    oom: OomText,
}

impl Ready {
    /// Applies them to this process. Async-signal-safe calls only.
    pub(super) fn apply(&self) {
        write_oom_score(&self.oom);
        super::limit_open_files(&self.settings);
        if let Some(mark) = self.settings.mark {
            mark.put_on();
        }
        if let Some(mask) = self.settings.umask {
            // SAFETY: umask takes a number and cannot fail. Async-signal-safe.
            unsafe { libc::umask(mask) };
        }
    }
}

/// Gives every signal its default disposition. The raw call: the C library refuses to touch 32 and 33.
pub(crate) fn default_signals() {
    // The kernel's own struct: handler (SIG_DFL = 0), flags, restorer, mask; all zero on every architecture.
    let action = [0u64; 4];
    for signal in 1..=crate::signals::LAST {
        // SAFETY: rt_sigaction reads 32 zero bytes; SIGKILL and SIGSTOP answer EINVAL, which is fine. Async-signal-safe.
        unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, action.as_ptr(), std::ptr::null::<u64>(), 8usize) };
    }
}

/// Unblocks all signals; what is pending arrives now.
pub(crate) fn empty_mask() {
    let mask = 0u64;
    // SAFETY: rt_sigprocmask reads 8 bytes. Raw for the same reason as above. Async-signal-safe.
    unsafe {
        libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, &raw const mask, std::ptr::null::<u64>(), 8usize)
    };
}

/// Closes every descriptor from `first` on.
pub(crate) fn close_from(first: RawFd) {
    close_between(first, RawFd::MAX);
}

/// Closes every descriptor from `first` to `last`, both included.
pub(crate) fn close_between(first: RawFd, last: RawFd) {
    // SAFETY: close_range takes three numbers. Async-signal-safe.
    if unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) } == 0 {
        return;
    }
    // Kernels before 5.9: one by one, as far as descriptors can go.
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: getrlimit fills the struct; async-signal-safe on Linux (a plain system call).
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    for descriptor in first..=RawFd::try_from(limit.rlim_cur).unwrap_or(RawFd::MAX).min(last) {
        // SAFETY: closing a number that is not open answers EBADF. Async-signal-safe.
        unsafe { libc::close(descriptor) };
    }
}

/// Lets /proc files of this process belong to its user again, as before it came from a non-dumpable parent.
///
/// Never in a child that shares its parent's memory: the flag would be the parent's.
pub(crate) fn make_dumpable() {
    // SAFETY: prctl with numbers only. Async-signal-safe.
    unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 1, 0, 0, 0) };
}

/// Asks the kernel to end this process, and the program that it becomes, when the thread that forked it ends.
pub(crate) fn die_with_parent() {
    // SAFETY: prctl with numbers only. Async-signal-safe.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) };
}

fn write_oom_score(text: &OomText) {
    if text.length == 0 {
        return;
    }
    // SAFETY: open of a constant path, write from memory that is ours, close: all async-signal-safe.
    unsafe {
        let file = libc::open(c"/proc/self/oom_score_adj".as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if file >= 0 {
            libc::write(file, text.bytes.as_ptr().cast(), text.length);
            libc::close(file);
        }
    }
}

pub(crate) fn errno() -> i32 {
    // SAFETY: the address of this thread's errno; in a child that shares memory the parent's thread is suspended.
    unsafe { *libc::__errno_location() }
}
