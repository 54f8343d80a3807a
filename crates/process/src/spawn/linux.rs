//! By a clone that shares memory until exec, as `vfork`, so its price does not grow with the parent's memory.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

use rustix::process::Pid;

use super::{BlockedSignals, Job, Started};
use crate::child::{self, Failure, Stage};

/// Enough for the few frames of `child::become_program`.
const STACK: usize = 64 * 1024;

/// Starts a child; on return it has become its program, or `job.failure` says why not.
pub(super) fn start(job: &mut Job) -> io::Result<Started> {
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
        child::become_program(&job.program, job.stdio, job.terminal, &job.settings)
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
