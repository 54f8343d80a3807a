//! What happens in a child between fork and exec.
//!
//! Everything here runs in a copy of a process that may have had other threads, or even in its very memory: no
//! allocation, no locks, nothing but system calls; each is a plain `libc` wrapper or `syscall` that POSIX or the wrapper's
//! own code makes async-signal-safe.

use std::os::fd::RawFd;

use crate::image::Program;
use crate::mark::Mark;

/// Which step of the start failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum Stage {
    /// Standard descriptors, session or terminal.
    Setup = 1,
    /// Entering the working directory.
    Chdir = 2,
    /// The exec itself: program missing, not executable, bad interpreter, too many arguments.
    Exec = 3,
}

impl Stage {
    pub(crate) fn from_number(number: i32) -> Self {
        match number {
            2 => Self::Chdir,
            3 => Self::Exec,
            _ => Self::Setup,
        }
    }
}

/// Why a child did not become its program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{stage:?} failed: {}", std::io::Error::from_raw_os_error(*.errno))]
pub struct Failure {
    /// The step.
    pub stage: Stage,
    /// Its error number, such as `ENOENT`.
    pub errno: i32,
}

/// What a program gets apart from its image and descriptors.
#[derive(Debug, Clone, Copy, Default)]
pub struct Settings {
    /// Soft and hard limit of open files to restore; `None` leaves the parent's.
    pub open_files: Option<(u64, u64)>,
    /// File mode creation mask; `None` leaves the parent's.
    pub umask: Option<u32>,
    /// Value for `oom_score_adj`; `None` leaves the parent's. Ignored where the kernel refuses it.
    pub oom_score_adj: Option<i16>,
    /// SIGKILL for the program when the thread that started it ends, so that not even the death of both keepers leaves
    /// it running. Only for a parent that starts everything from its one main thread; prepared processes only.
    pub dies_with_parent: bool,
    /// What the program and all its descendants are marked with.
    pub mark: Option<Mark>,
}

impl Settings {
    /// The score as the text that the kernel wants, made before the fork.
    pub(crate) fn oom_text(&self) -> OomText {
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
pub(crate) struct OomText {
    bytes: [u8; 8],
    length: usize,
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

/// Turns this child, already leader of its session, into the program; returns only on failure.
///
/// `stdio` must be open descriptors ≥ 3. With `terminal`, descriptor 0 becomes the controlling terminal.
pub(crate) fn become_program(
    program: &Program,
    stdio: [RawFd; 3],
    terminal: bool,
    settings: &Settings,
    oom: &OomText,
) -> Failure {
    for (target, source) in (0..).zip(stdio) {
        // SAFETY: dup2 takes two numbers and leaves the copy without close-on-exec. Async-signal-safe.
        if unsafe { libc::dup2(source, target) } < 0 {
            return failure(Stage::Setup);
        }
    }
    // SAFETY: TIOCSCTTY takes a number: 0, do not steal. ioctl is a plain system call, async-signal-safe.
    if terminal && unsafe { libc::ioctl(0, libc::TIOCSCTTY, 0) } < 0 {
        return failure(Stage::Setup);
    }
    write_oom_score(oom);
    if let Some((soft, hard)) = settings.open_files {
        let limit = libc::rlimit { rlim_cur: soft, rlim_max: hard };
        // SAFETY: setrlimit reads the struct; a plain system call, async-signal-safe.
        unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) };
    }
    if let Some(mark) = settings.mark {
        mark.put_on();
    }
    if let Some(mask) = settings.umask {
        // SAFETY: umask takes a number and cannot fail. Async-signal-safe.
        unsafe { libc::umask(mask) };
    }
    // SAFETY: `cwd` is null or a string of the image. chdir is async-signal-safe.
    if !program.cwd.is_null() && unsafe { libc::chdir(program.cwd) } < 0 {
        return failure(Stage::Chdir);
    }
    empty_mask();
    exec(program)
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

/// `execvp`'s rule: try each candidate; go on where it is not, remember "not permitted", let the shell run scripts
/// without a first line.
fn exec(program: &Program) -> Failure {
    let mut denied = false;
    let mut missing = libc::ENOENT;
    let mut next = program.candidates;
    loop {
        // SAFETY: the list ends with a null pointer, before which `next` never goes further.
        let path = unsafe { *next };
        if path.is_null() {
            break;
        }
        // SAFETY: all are lists and strings of a relocated image. execve is async-signal-safe.
        unsafe { libc::execve(path, program.argv, program.envp) };
        match errno() {
            libc::ENOEXEC => {
                // SAFETY: entry 1 of the script's list is ours to fill; the first is the shell's path.
                unsafe {
                    *program.script.add(1) = path;
                    libc::execve(*program.script, program.script, program.envp);
                }
                return failure(Stage::Exec);
            }
            libc::EACCES => denied = true,
            errno @ (libc::ENOENT | libc::ENOTDIR | libc::ESTALE | libc::ENODEV | libc::ETIMEDOUT) => missing = errno,
            errno => return Failure { stage: Stage::Exec, errno },
        }
        // SAFETY: `next` pointed at a non-null entry, so another follows.
        next = unsafe { next.add(1) };
    }
    Failure { stage: Stage::Exec, errno: if denied { libc::EACCES } else { missing } }
}

fn failure(stage: Stage) -> Failure {
    Failure { stage, errno: errno() }
}

fn errno() -> i32 {
    // SAFETY: the address of this thread's errno; in a child that shares memory the parent's thread is suspended.
    unsafe { *libc::__errno_location() }
}
