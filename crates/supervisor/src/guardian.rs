//! The guardian: parent of the worker, does nothing but outlive it.
//!
//! When the worker dies, by whatever cause, everything that it ran becomes the guardian's, which ends it. When the guardian
//! dies first, the worker hears of it by its parent-death signal, ends everything itself and goes.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

use process::mark::Mark;
use process::{Pid, orphans};

use crate::{state, sweep, worker};

/// What the resident has from the joiner that started it.
pub struct Inheritance {
    /// The door, listening.
    pub listener: OwnedFd,
    /// The runtime root, absolute; also the current directory.
    pub root: PathBuf,
    /// This life: random, not 0.
    pub epoch: u64,
    /// What programs get back.
    pub settings: process::Settings,
}

/// Forks the resident off this process, which must have one thread only. `lock` is let go in the child.
pub fn start(listener: OwnedFd, lock: OwnedFd) -> io::Result<()> {
    // SAFETY: one thread, so the child may go on as usual.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            drop(lock);
            let code = i32::from(run(listener).is_err());
            // SAFETY: ends this process without the parent's exit handlers.
            unsafe { libc::_exit(code) }
        }
        _ => Ok(()),
    }
}

fn run(listener: OwnedFd) -> io::Result<()> {
    // 1. Leave the joiner's session and streams; the daemon leaks descriptors into all that it starts.
    rustix::process::setsid()?;
    let listener = keep_only(listener)?;
    // 2. Remember what programs are to get, then arm this process itself.
    let mut settings = prepare_itself()?;
    orphans::become_subreaper()?;
    let mut epoch = [0u8; 8];
    rustix::rand::getrandom(&mut epoch, rustix::rand::GetRandomFlags::empty())?;
    let epoch = u64::from_ne_bytes(epoch).max(1);
    settings.mark = Some(Mark::of(epoch)).filter(|mark| mark.is_possible());
    let root = std::env::current_dir()?;
    // 3. No signal but SIGKILL ends it.
    sweep::block_signals();
    // 4. The worker does the work.
    let own = rustix::process::getpid();
    let spill = state::spill_directory(&root, epoch);
    // SAFETY: still one thread.
    let worker = match unsafe { libc::fork() } {
        -1 => return Err(io::Error::last_os_error()),
        0 => {
            let code = i32::from(worker::run(Inheritance { listener, root, epoch, settings }, own).is_err());
            // SAFETY: ends this process at once; its threads have nothing left to do.
            unsafe { libc::_exit(code) }
        }
        pid => pid,
    };
    // 5. Wait for its end, whatever it is.
    if let Some(worker) = Pid::from_raw(worker) {
        let _ = process::exit::reap_blocking(worker);
    }
    // 6. Let nobody in any more, end what it left, go.
    let _ = state::remove(&root, &spill);
    drop(listener);
    sweep::end_all_children();
    Ok(())
}

/// Null streams, the door at 3, nothing else.
fn keep_only(listener: OwnedFd) -> io::Result<OwnedFd> {
    let null = process::stdio::null()?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    let high = rustix::io::fcntl_dupfd_cloexec(&listener, 3)?;
    process::limits::close_all_but(high.as_fd());
    // Whatever these were, they are closed now.
    std::mem::forget((listener, null));
    Ok(high)
}

fn prepare_itself() -> io::Result<process::Settings> {
    let umask = rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    let score = process::limits::oom_score_adj().ok();
    // Programs may be sacrificed before their supervisor; where this is not permitted, they are equals.
    if score.is_some_and(|score| score > 0) {
        let _ = process::limits::set_oom_score_adj(0);
    }
    let open_files = process::limits::raise_open_files()?;
    process::limits::become_undumpable()?;
    Ok(process::Settings {
        open_files: Some(open_files),
        umask: Some(umask.as_raw_mode()),
        oom_score_adj: score,
        dies_with_parent: true,
        mark: None,
    })
}
