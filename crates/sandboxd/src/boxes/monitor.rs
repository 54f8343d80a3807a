//! `sandboxd init DIR`: the one process of a box that lives in the host's pid namespace.
//!
//! It starts pid 1, ends it when the service lets go of the control socket, and leaves when all of the box is gone.
//! Single-threaded on purpose: it forks, and pid 1's parent-death signal is bound to its thread.
//!
//! Inherited: descriptor 0, the listening socket for the box' daemon; descriptor 1, the control socket ([`super::control`]).

use std::fs;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitCode;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigHandler, Signal, kill, signal};
use nix::sys::stat::{Mode, umask};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::{ForkResult, Pid, fork, getppid, setsid};

use super::{Isolation, Plan, descriptors, loose, namespaces, pid1};

/// What pid 1 and the loose variant get from the monitor.
pub struct Inherited {
    /// Where the box' daemon shall accept.
    pub listener: OwnedFd,
    /// The control socket.
    pub control: UnixStream,
}

/// Runs the box in `dir` until its end.
pub fn main(dir: &Path) -> ExitCode {
    let Ok(mut inherited) = inherit() else { return ExitCode::FAILURE };
    match run(dir, &mut inherited) {
        Ok(()) => ExitCode::SUCCESS,
        Err(words) => {
            // Nobody to tell if this fails: the service is gone.
            let _ = writeln!(inherited.control, "{words}");
            ExitCode::FAILURE
        }
    }
}

/// Takes descriptors 0 and 1 and leaves `/dev/null` in their places.
fn inherit() -> std::io::Result<Inherited> {
    // Out of the terminal's foreground group: Ctrl-C is for the service, which ends its boxes in order.
    let _ = setsid();
    let take = |fd: BorrowedFd<'_>| rustix::io::fcntl_dupfd_cloexec(fd, 3);
    let listener = take(std::io::stdin().as_fd())?;
    let control = take(std::io::stdout().as_fd())?;
    let null = fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    Ok(Inherited { listener, control: control.into() })
}

fn run(dir: &Path, inherited: &mut Inherited) -> Result<(), String> {
    let service = getppid();
    let plan = Plan::read(dir).map_err(|error| format!("plan: {error}"))?;
    descriptors::restore(plan.descriptors);
    umask(Mode::from_bits_truncate(0o022));
    for ignored in [Signal::SIGINT, Signal::SIGQUIT, Signal::SIGHUP, Signal::SIGTERM] {
        // SAFETY: the default action installs no handler.
        unsafe { signal(ignored, SigHandler::SigDfl) }.map_err(|error| error.to_string())?;
    }
    if plan.isolation == Isolation::Off {
        loose::run(&plan, inherited)?;
    } else {
        namespaces::leave_host(&plan)?;
        // SAFETY: the process has one thread, so the child may do whatever its parent may.
        match unsafe { fork() }.map_err(|error| format!("fork: {error}"))? {
            ForkResult::Child => pid1::main(&plan, inherited),
            ForkResult::Parent { child } => watch(child, inherited)?,
        }
    }
    // The service deletes the directory; after its violent death nobody else would.
    if getppid() != service {
        let _ = fs::remove_dir_all(&plan.dir);
    }
    Ok(())
}

/// Waits until pid 1 is gone, with every process of its namespace; ends it when the control socket ends.
fn watch(pid1: Pid, inherited: &Inherited) -> Result<(), String> {
    let pidfd = rustix::process::Pid::from_raw(pid1.as_raw())
        .and_then(|pid| rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok())
        .ok_or("pidfd_open")?;
    loop {
        let mut fds = [
            // Pid 1 reads the words on it; here only its end counts.
            PollFd::new(inherited.control.as_fd(), PollFlags::empty()),
            PollFd::new(pidfd.as_fd(), PollFlags::POLLIN),
        ];
        match poll(&mut fds, PollTimeout::NONE) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(error) => return Err(format!("poll: {error}")),
        }
        let happened = |at: usize| fds[at].revents().is_some_and(|events| !events.is_empty());
        if happened(0) {
            // Ends the namespace; ESRCH means that it has ended.
            let _ = kill(pid1, Signal::SIGKILL);
        }
        if happened(0) || happened(1) {
            // Returns only when all members of the namespace have been reaped (pid_namespaces(7)).
            while waitpid(pid1, None::<WaitPidFlag>) == Err(nix::errno::Errno::EINTR) {}
            return Ok(());
        }
    }
}
