//! Forking and executing: the one place where a process comes to be.

use std::{
    io,
    os::{fd::OwnedFd, unix::process::CommandExt as _},
    path::Path,
    process::{self, Command, Stdio},
    sync::Arc,
};

use envd_api::process::pty::Size;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tokio::{net::unix::pipe, sync::Mutex};

use super::{arguments::Arguments, child::Child, input::Input, pump::Source, terminal::Terminal};
use crate::envd::account::Account;

/// Which streams a process gets.
pub enum Streams<'request> {
    /// Pipes for stdout and stderr, and for stdin if wanted (else `/dev/null`).
    Pipes {
        /// Whether stdin is a pipe.
        stdin: bool,
    },
    /// A terminal of this size, in a session of its own.
    Terminal(&'request Size),
}

/// A new process and the daemon's ends of its streams.
pub struct Spawned {
    /// In the daemon's pid namespace.
    pub pid: u32,
    /// Refers to this process and no other, also after its pid is used again.
    pub pidfd: OwnedFd,
    /// Where input goes.
    pub input: Input,
    /// Where output comes from.
    pub output: Vec<Source>,
}

/// Starts a process as an account in a directory, with a clean signal state, umask 022 and no
/// descriptors but its streams. A command that can't be found or executed is a process that says so
/// on stderr and exits with 127 or 126, as the real daemon's wrapper makes it.
///
/// # Errors
/// The system's: the directory can't be entered, the account can't be taken, the arguments are too
/// long, there are no more processes, descriptors or terminals.
pub fn spawn(arguments: Arguments, directory: &Path, account: &Account, streams: &Streams<'_>) -> io::Result<Spawned> {
    // Only a name: the child executes in `pre_exec` and never gets to what `Command` would run.
    let mut command = Command::new("/proc/self/exe");
    let terminal = match streams {
        Streams::Pipes { stdin } => {
            command.stdin(if *stdin { Stdio::piped() } else { Stdio::null() });
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            None
        }
        Streams::Terminal(size) => {
            let (master, slave) = Terminal::open(size)?;
            command.stdin(slave.try_clone()?).stdout(slave.try_clone()?).stderr(slave);
            Some(Arc::new(master))
        }
    };
    let child = Child::new(arguments, directory, account, terminal.is_some())?;
    // SAFETY: `become_process` only makes system calls on memory prepared before the fork.
    unsafe { command.pre_exec(move || child.become_process()) };
    let mut process = command.spawn()?;
    // The command holds the parent's copies of a terminal's other end; its end of file needs them gone.
    drop(command);

    take_charge(&mut process, terminal).inspect_err(|_| {
        // Without its handle nobody would ever wait for it. Both fail only if it is gone already.
        let _ = process.kill();
        let _ = process.wait();
    })
}

fn take_charge(process: &mut process::Child, terminal: Option<Arc<Terminal>>) -> io::Result<Spawned> {
    // Nobody but the supervision of this process waits for it, so the pid is still its own.
    let pidfd = pidfd_open(Pid::from_child(process), PidfdFlags::empty())?;
    let (input, output) = match terminal {
        Some(terminal) => (Input::Terminal(terminal.clone(), Arc::default()), vec![Source::Terminal(terminal)]),
        None => {
            let stdin = process.stdin.take().map(|stdin| pipe::Sender::from_owned_fd(stdin.into())).transpose()?;
            let stdout =
                process.stdout.take().map(|stdout| pipe::Receiver::from_owned_fd(stdout.into())).transpose()?;
            let stderr =
                process.stderr.take().map(|stderr| pipe::Receiver::from_owned_fd(stderr.into())).transpose()?;
            let sources = stdout.map(Source::Stdout).into_iter().chain(stderr.map(Source::Stderr)).collect();
            (Input::Pipe(Arc::new(Mutex::new(stdin))), sources)
        }
    };
    Ok(Spawned { pid: process.id(), pidfd, input, output })
}
