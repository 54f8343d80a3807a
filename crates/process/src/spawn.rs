//! Starting a program at once: a clone that shares memory until exec, as `vfork`, so its price does not grow with the
//! parent's memory. The caller waits for the exec and gets its error as a fact.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use rustix::process::Pid;

use crate::child::{self, Failure, OomText, Settings, Stage};
use crate::exit;
use crate::image::{ExecImage, Program};
use crate::pidfd::PidFd;

/// Enough for the few frames of `child::become_program`.
const STACK: usize = 64 * 1024;

/// A started program: leader of its own session and process group, of number `pid`.
#[derive(Debug)]
pub struct Started {
    /// Its process id.
    pub pid: Pid,
    /// Its identity.
    pub pidfd: PidFd,
}

/// Why a program was not started. Nothing is left running.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// No process could be made (`EAGAIN`, `ENOMEM`), or no descriptor (`EMFILE`).
    #[error("clone failed: {0}")]
    Clone(#[source] io::Error),
    /// The process could not become the program.
    #[error(transparent)]
    Child(#[from] Failure),
}

impl SpawnError {
    /// The error number, such as `ENOENT`.
    pub fn errno(&self) -> i32 {
        match self {
            Self::Clone(error) => error.raw_os_error().unwrap_or(libc::EIO),
            Self::Child(failure) => failure.errno,
        }
    }
}

/// Starts the program of `image` in an own session with clean signals and only descriptors 0–2, taken from `stdio`.
///
/// With `terminal`, `stdio[0]` must be the near end of a pseudo-terminal and becomes the controlling one. The calling
/// thread is suspended until the exec has succeeded or failed; signals are blocked in it meanwhile. `oom_score_adj` has
/// no effect when this process is not dumpable.
pub fn spawn(
    mut image: ExecImage,
    stdio: [BorrowedFd<'_>; 3],
    terminal: bool,
    settings: &Settings,
) -> Result<Started, SpawnError> {
    let high = stdio.map(Above::from).try_each().map_err(SpawnError::Clone)?;
    let mut job = Job {
        program: image.relocated(),
        stdio: [high[0].number(), high[1].number(), high[2].number()],
        terminal,
        settings: *settings,
        oom: settings.oom_text(),
        failure: None,
    };
    let started = clone_sharing_memory(&mut job).map_err(SpawnError::Clone)?;
    match job.failure {
        None => Ok(started),
        Some(failure) => {
            // It is on its way out; reaped here, or the failed start would leave a zombie.
            let _ = exit::reap_blocking(started.pid);
            Err(failure.into())
        }
    }
}

/// A descriptor at a number ≥ 3, duplicated only when it was lower.
enum Above<'fd> {
    Given(BorrowedFd<'fd>),
    Moved(OwnedFd),
}

impl<'fd> Above<'fd> {
    fn from(descriptor: BorrowedFd<'fd>) -> io::Result<Self> {
        if descriptor.as_raw_fd() >= 3 {
            return Ok(Self::Given(descriptor));
        }
        Ok(Self::Moved(rustix::io::fcntl_dupfd_cloexec(descriptor, 3)?))
    }

    fn number(&self) -> RawFd {
        match self {
            Self::Given(descriptor) => descriptor.as_raw_fd(),
            Self::Moved(descriptor) => descriptor.as_raw_fd(),
        }
    }
}

/// Three results into one.
trait TryEach<T> {
    fn try_each(self) -> io::Result<[T; 3]>;
}

impl<T> TryEach<T> for [io::Result<T>; 3] {
    fn try_each(self) -> io::Result<[T; 3]> {
        let [first, second, third] = self;
        Ok([first?, second?, third?])
    }
}

struct Job {
    program: Program,
    stdio: [RawFd; 3],
    terminal: bool,
    settings: Settings,
    oom: OomText,
    failure: Option<Failure>,
}

fn clone_sharing_memory(job: &mut Job) -> io::Result<Started> {
    let mut stack = vec![0u8; STACK];
    // SAFETY: the end of the vector's memory, aligned down to 16 as both ABIs want; the stack grows downwards.
    let top = unsafe { stack.as_mut_ptr().add(STACK) };
    let top = top.wrapping_sub(top as usize % 16).cast();
    let mut pidfd: RawFd = -1;
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD | libc::SIGCHLD;
    let signals = BlockedSignals::new();
    // SAFETY: the child runs `run` on its own stack while this thread is suspended; stack and job outlive it. With all
    // signals blocked no handler of ours can run in the shared memory.
    let pid = unsafe { libc::clone(run, top, flags, (job as *mut Job).cast(), &raw mut pidfd) };
    let error = io::Error::last_os_error();
    drop(signals);
    let Some(pid) = Some(pid).filter(|&pid| pid > 0).and_then(Pid::from_raw) else { return Err(error) };
    // SAFETY: the kernel has just made this descriptor for us.
    let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
    Ok(Started { pid, pidfd: pidfd.into() })
}

/// The child. Async-signal-safe calls only.
extern "C" fn run(job: *mut libc::c_void) -> libc::c_int {
    // SAFETY: `job` is the `Job` of the suspended parent.
    let job = unsafe { &mut *job.cast::<Job>() };
    child::default_signals();
    // SAFETY: setsid takes nothing; a new child leads no group, so it cannot fail. Async-signal-safe.
    let failure = if unsafe { libc::setsid() } < 0 {
        Failure { stage: Stage::Setup, errno: libc::EPERM }
    } else {
        close_all_but(job.stdio);
        child::become_program(&job.program, job.stdio, job.terminal, &job.settings, &job.oom)
    };
    job.failure = Some(failure);
    // SAFETY: _exit runs no handlers of the parent. Async-signal-safe.
    unsafe { libc::_exit(127) }
}

/// Marks every descriptor from 3 on close-on-exec; the copies at 0–2 come later and are not.
fn close_all_but(stdio: [RawFd; 3]) {
    const CLOEXEC: libc::c_uint = 4;
    // SAFETY: close_range takes three numbers. Async-signal-safe.
    if unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, CLOEXEC) } == 0 {
        return;
    }
    // Before 5.11: move the three out of the way and close what lies between.
    let highest = stdio.into_iter().max().unwrap_or(3);
    child::close_from(highest + 1);
    for descriptor in (3..highest).filter(|descriptor| !stdio.contains(descriptor)) {
        // SAFETY: closing a number that is not open answers EBADF. Async-signal-safe.
        unsafe { libc::close(descriptor) };
    }
    for descriptor in stdio {
        // SAFETY: fcntl with numbers only. Async-signal-safe.
        unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}

/// All signals blocked in this thread until dropped.
pub(crate) struct BlockedSignals(libc::sigset_t);

impl BlockedSignals {
    pub(crate) fn new() -> Self {
        // SAFETY: sigfillset initialises the one set, pthread_sigmask the other.
        unsafe {
            let mut all = std::mem::zeroed();
            let mut before = std::mem::zeroed();
            libc::sigfillset(&raw mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
            Self(before)
        }
    }
}

impl Drop for BlockedSignals {
    fn drop(&mut self) {
        // SAFETY: the set was filled in by `new`.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut()) };
    }
}

#[cfg(test)]
#[path = "spawn_tests.rs"]
mod tests;
