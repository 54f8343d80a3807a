//! By a fork: there, nothing else both starts a program with a controlling terminal and says which step failed. Its price grows with
//! the parent's memory.

use std::io::{self, Read};
use std::os::fd::{AsRawFd, RawFd};

use rustix::process::Pid;

use super::{BlockedSignals, Job, Started};
use crate::child::{self, Failure, OpenFiles, Stage};
use crate::pidfd::{self, PidFd};
use crate::{exit, pipe, stdio};

/// Starts a child; on return it has become its program, or `job.failure` says why not.
pub(super) fn start(job: &mut Job) -> io::Result<Started> {
    // All that can fail for want of memory or descriptors comes before the fork.
    let queue = pidfd::queue()?;
    let mut files = OpenFiles::new()?;
    let (report, theirs) = pipe::pair()?;
    let theirs = stdio::above_stdio(theirs)?;
    // Blocked, so that no handler of ours can run in the child before it has default dispositions.
    let signals = BlockedSignals::new();
    // SAFETY: the child makes async-signal-safe calls only, and ends in `become_program`.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        become_program(job, theirs.as_raw_fd(), &mut files);
    }
    let error = io::Error::last_os_error();
    drop(signals);
    drop(theirs);
    let Some(pid) = Some(pid).filter(|&pid| pid > 0).and_then(Pid::from_raw) else { return Err(error) };
    // Its number is its own as long as we do not reap it.
    match PidFd::on(queue, pid) {
        Ok(pidfd) => {
            job.failure = failure(&mut std::fs::File::from(report));
            Ok(Started { pid, pidfd })
        }
        Err(error) => {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            let _ = exit::reap_blocking(pid);
            Err(error)
        }
    }
}

/// What the child said before it ended; nothing, when the pipe was closed by its exec.
fn failure(report: &mut impl Read) -> Option<Failure> {
    let mut bytes = [0; 8];
    report.read_exact(&mut bytes).is_ok().then(|| Failure::from_bytes(bytes))
}

/// The child's whole life before exec. Async-signal-safe calls only.
fn become_program(job: &Job, report: RawFd, files: &mut OpenFiles) -> ! {
    child::default_signals();
    // SAFETY: setsid takes nothing; a new child leads no group, so it cannot fail. Async-signal-safe.
    let failure = if unsafe { libc::setsid() } < 0 {
        Failure { stage: Stage::Setup, errno: libc::EPERM }
    } else {
        files.close_on_exec();
        child::become_program(&job.program, job.stdio, job.terminal, &job.settings)
    };
    let bytes = failure.to_bytes();
    // SAFETY: write from this frame's memory, and _exit, which runs nothing of the parent's. Both async-signal-safe.
    unsafe {
        libc::write(report, bytes.as_ptr().cast(), bytes.len());
        libc::_exit(127)
    }
}
