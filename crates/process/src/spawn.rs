//! Starting a program at once. The caller waits for the exec and gets its error as a fact.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};

use rustix::process::Pid;

use crate::child::{Failure, Ready, Settings};
use crate::exit;
use crate::image::{ExecImage, Program};
use crate::pidfd::PidFd;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(target_os = "macos")]
use macos as system;

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
/// thread waits until the exec has succeeded or failed; on Linux it is suspended, with signals blocked. `oom_score_adj` has
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
        settings: settings.ready(),
        failure: None,
    };
    let started = system::start(&mut job).map_err(SpawnError::Clone)?;
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
    settings: Ready,
    failure: Option<Failure>,
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
