//! What happens in a child between fork and exec.
//!
//! Everything here runs in a copy of a process that may have had other threads, or even in its very memory: no
//! allocation, no locks, nothing but system calls; each is a plain `libc` wrapper or `syscall` that POSIX or the wrapper's
//! own code makes async-signal-safe.

use std::os::fd::RawFd;

use crate::image::Program;
#[cfg(target_os = "linux")]
use crate::mark::Mark;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;

#[cfg(target_os = "linux")]
pub(crate) use linux::{
    Ready, close_between, close_from, default_signals, die_with_parent, empty_mask, errno, make_dumpable,
};
#[cfg(target_os = "macos")]
pub(crate) use macos::{OpenFiles, Ready, default_signals, empty_mask, errno};

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
    fn from_number(number: i32) -> Self {
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

impl Failure {
    /// As a child tells it to its parent.
    pub(crate) fn to_bytes(self) -> [u8; 8] {
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&(self.stage as i32).to_ne_bytes());
        bytes[4..].copy_from_slice(&self.errno.to_ne_bytes());
        bytes
    }

    /// The inverse of [`Failure::to_bytes`].
    pub(crate) fn from_bytes(bytes: [u8; 8]) -> Self {
        let [a, b, c, d, e, f, g, h] = bytes;
        let stage = Stage::from_number(i32::from_ne_bytes([a, b, c, d]));
        Self { stage, errno: i32::from_ne_bytes([e, f, g, h]) }
    }
}

/// What a program gets apart from its image and descriptors.
#[derive(Debug, Clone, Copy, Default)]
pub struct Settings {
    /// Soft and hard limit of open files to restore; `None` leaves the parent's.
    pub open_files: Option<(u64, u64)>,
    /// File mode creation mask; `None` leaves the parent's.
    #[cfg(target_os = "linux")]
    pub umask: Option<u32>,
    /// Value for `oom_score_adj`; `None` leaves the parent's. Ignored where the kernel refuses it.
    #[cfg(target_os = "linux")]
    pub oom_score_adj: Option<i16>,
    /// SIGKILL for the program when the thread that started it ends, so that not even the death of both keepers leaves
    /// it running. Only for a parent that starts everything from its one main thread; prepared processes only.
    #[cfg(target_os = "linux")]
    pub dies_with_parent: bool,
    /// What the program and all its descendants are marked with.
    #[cfg(target_os = "linux")]
    pub mark: Option<Mark>,
}

/// Turns this child, already leader of its session, into the program; returns only on failure.
///
/// `stdio` must be open descriptors ≥ 3. With `terminal`, descriptor 0 becomes the controlling terminal.
pub(crate) fn become_program(program: &Program, stdio: [RawFd; 3], terminal: bool, settings: &Ready) -> Failure {
    for (target, source) in (0..).zip(stdio) {
        // SAFETY: dup2 takes two numbers and leaves the copy without close-on-exec. Async-signal-safe.
        if unsafe { libc::dup2(source, target) } < 0 {
            return failure(Stage::Setup);
        }
        make_blocking(target);
    }
    // SAFETY: TIOCSCTTY takes a number: 0, do not steal. ioctl is a plain system call, async-signal-safe.
    if terminal && unsafe { libc::ioctl(0, libc::TIOCSCTTY as _, 0) } < 0 {
        return failure(Stage::Setup);
    }
    settings.apply();
    // SAFETY: `cwd` is null or a string of the image. chdir is async-signal-safe.
    if !program.cwd.is_null() && unsafe { libc::chdir(program.cwd) } < 0 {
        return failure(Stage::Chdir);
    }
    empty_mask();
    exec(program)
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

/// Programs expect streams that wait, as Node gives them; a harness' own, which they may inherit, need not be of that kind. Nothing
/// is lost when that fails. Async-signal-safe.
fn make_blocking(descriptor: RawFd) {
    // SAFETY: fcntl takes numbers here; a plain system call, async-signal-safe.
    unsafe {
        let flags = libc::fcntl(descriptor, libc::F_GETFL);
        if flags >= 0 && flags & libc::O_NONBLOCK != 0 {
            libc::fcntl(descriptor, libc::F_SETFL, flags & !libc::O_NONBLOCK);
        }
    }
}

fn failure(stage: Stage) -> Failure {
    Failure { stage, errno: errno() }
}

/// Async-signal-safe.
fn limit_open_files(settings: &Settings) {
    if let Some((soft, hard)) = settings.open_files {
        let limit = libc::rlimit { rlim_cur: soft, rlim_max: hard };
        // SAFETY: setrlimit reads the struct; a plain system call, async-signal-safe.
        unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) };
    }
}
