//! Pid 1 of a box: builds the box from inside, starts the daemon, reaps orphans, freezes and thaws.
//!
//! Forwards no signals: no signal from inside can reach it, and one from outside is the end. When it ends, the kernel
//! ends the whole namespace.

use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;

use super::monitor::Inherited;
use super::{Isolation, Plan, capabilities, control, namespaces, root};

/// The search path of the daemon and so of everything in the box.
pub const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Never returns: a box whose pid 1 leaves has ended.
pub fn main(plan: &Plan, inherited: &mut Inherited) -> ! {
    let code = match run(plan, inherited) {
        Ok(()) => 0,
        Err(words) => {
            // The service sees the end of the socket if it cannot be told why.
            let _ = writeln!(inherited.control, "{words}");
            1
        }
    };
    std::process::exit(code)
}

fn run(plan: &Plan, inherited: &mut Inherited) -> Result<(), String> {
    // Everything below, `kill(-1)` above all, is meant for a namespace of its own.
    if std::process::id() != 1 {
        return Err("not pid 1 of a new namespace".to_owned());
    }
    // Should the monitor be killed by name or by mistake.
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL)).map_err(|e| e.to_string())?;
    namespaces::own_mounts()?;
    root::enter(plan)?;
    match plan.isolation {
        Isolation::OneUser => namespaces::become_user(plan)?,
        _ => capabilities::limit().map_err(|error| format!("capabilities: {error}"))?,
    }
    // Changing ids may have cleared it.
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL)).map_err(|e| e.to_string())?;

    let mut children = SigSet::empty();
    children.add(Signal::SIGCHLD);
    children.thread_block().map_err(|error| error.to_string())?;
    let exits = SignalFd::with_flags(&children, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
        .map_err(|error| format!("signalfd: {error}"))?;
    let daemon = start_daemon(plan, inherited)?;
    // After the exec of the daemon: a process that nobody may trace hides its own /proc files, which starting needs.
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
        .map_err(|e| e.to_string())?;
    writeln!(inherited.control, "{}", control::READY).map_err(|error| error.to_string())?;
    serve(daemon, &exits, inherited)
}

/// Starts the daemon of the box on the inherited socket.
fn start_daemon(plan: &Plan, inherited: &Inherited) -> Result<Pid, String> {
    // Without close-on-exec, which this duplicate has not.
    let listener = rustix::io::dup(&inherited.listener).map_err(|error| error.to_string())?;
    let child = Command::new("/proc/self/exe")
        .arg0("envd")
        .args(plan.daemon_arguments(listener.as_raw_fd()))
        .env_clear()
        .env("PATH", PATH)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .map_err(|error| format!("cannot start the sandbox daemon: {error}"))?;
    let pid = i32::try_from(child.id()).map_err(|error| error.to_string())?;
    Ok(Pid::from_raw(pid))
}

/// Until the daemon or the control socket ends.
fn serve(daemon: Pid, exits: &SignalFd, inherited: &mut Inherited) -> Result<(), String> {
    loop {
        let mut fds =
            [PollFd::new(inherited.control.as_fd(), PollFlags::POLLIN), PollFd::new(exits.as_fd(), PollFlags::POLLIN)];
        match poll(&mut fds, PollTimeout::NONE) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(format!("poll: {error}")),
        }
        let happened = |at: usize| fds[at].revents().is_some_and(|events| !events.is_empty());
        let (word, child) = (happened(0), happened(1));
        if child {
            while let Ok(Some(_)) = exits.read_signal() {}
            if reap(daemon)? {
                return Ok(());
            }
        }
        if word && !obey(inherited)? {
            return Ok(());
        }
    }
}

/// Collects every child that has exited; true when the daemon was among them.
fn reap(daemon: Pid) -> Result<bool, String> {
    loop {
        match waitid(Id::All, WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG) {
            Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => return Ok(false),
            Ok(status) if status.pid() == Some(daemon) => return Ok(true),
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(format!("waitid: {error}")),
        }
    }
}

/// Does what the service says; false when it has let go.
fn obey(inherited: &mut Inherited) -> Result<bool, String> {
    let mut word = [0_u8; 1];
    match inherited.control.read(&mut word) {
        Ok(0) => return Ok(false),
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::Interrupted => return Ok(true),
        Err(error) => return Err(format!("control: {error}")),
    }
    let signal = match word[0] {
        control::FREEZE => Signal::SIGSTOP,
        control::THAW => Signal::SIGCONT,
        _ => return Ok(true),
    };
    // Every process of the namespace except this one, at once.
    match kill(Pid::from_raw(-1), signal) {
        Ok(()) | Err(Errno::ESRCH) => {}
        Err(error) => return Err(format!("kill: {error}")),
    }
    inherited.control.write_all(&word).map_err(|error| format!("control: {error}"))?;
    Ok(true)
}
