//! Forking and executing: the one place where a process comes to be.

use std::{
    ffi::{CStr, CString, c_char, c_int},
    io,
    os::{
        fd::OwnedFd,
        unix::{ffi::OsStrExt as _, process::CommandExt as _},
    },
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
};

use envd_api::process::pty::Size;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tokio::{net::unix::pipe, sync::Mutex};

use super::{arguments::Arguments, input::Input, pump::Source, terminal::Terminal};
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
    let child = Child {
        arguments,
        directory: CString::new(directory.as_os_str().as_bytes())?,
        credentials: Credentials::of(account),
        has_terminal: terminal.is_some(),
    };
    // SAFETY: `become_process` only makes system calls on memory prepared before the fork.
    unsafe { command.pre_exec(move || child.become_process()) };
    let mut process = command.spawn()?;
    // The command holds the parent's copies of a terminal's other end; its end of file needs them gone.
    drop(command);

    // Nobody but the supervision of this process waits for it, so the pid is still its own.
    let pidfd = pidfd_open(Pid::from_child(&process), PidfdFlags::empty())?;
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

/// The ids to take; `None` when the daemon has them already (it need not be root then).
struct Credentials(Option<(libc::uid_t, libc::gid_t, Vec<libc::gid_t>)>);

impl Credentials {
    fn of(account: &Account) -> Self {
        let own = rustix::process::geteuid().as_raw();
        let has_them = own != 0 && own == account.uid && rustix::process::getegid().as_raw() == account.gid;
        Self((!has_them).then(|| (account.uid, account.gid, account.groups())))
    }
}

/// All that the child needs, allocated before the fork.
struct Child {
    arguments: Arguments,
    directory: CString,
    credentials: Credentials,
    has_terminal: bool,
}

impl Child {
    /// Turns the forked child into the process. Runs between fork and exec: no allocation, no locks.
    /// Comes back only with an error that is the request's fault or the system's.
    fn become_process(&self) -> io::Result<()> {
        if self.has_terminal {
            // SAFETY: setsid and this ioctl take no memory of ours; descriptor 0 is the terminal.
            unsafe {
                check(libc::setsid())?;
                check(libc::ioctl(0, libc::TIOCSCTTY, 0))?;
            }
        }
        if let Some((uid, gid, groups)) = &self.credentials.0 {
            // SAFETY: `groups` is valid for its length; the calls change only this process.
            unsafe {
                check(libc::setgroups(groups.len(), groups.as_ptr()))?;
                check(libc::setgid(*gid))?;
                check(libc::setuid(*uid))?;
            }
        }
        // SAFETY: umask can't fail, chdir reads a valid string.
        unsafe {
            libc::umask(0o022);
            check(libc::chdir(self.directory.as_ptr()))?;
        }
        reset_signals();
        close_inherited_on_exec();
        self.execute()
    }

    /// As `execvp`, but with prepared paths, and a failure ends the process.
    fn execute(&self) -> io::Result<()> {
        let mut failure = libc::ENOENT;
        for (candidate, shell_argv) in self.arguments.candidates.iter().zip(&self.arguments.shell_argv) {
            match self.try_execute(candidate, self.arguments.argv.as_ptr()) {
                libc::ENOEXEC => failure = self.try_execute(c"/bin/sh", shell_argv.as_ptr()),
                libc::EACCES => failure = libc::EACCES,
                libc::ENOENT | libc::ENOTDIR | libc::ESTALE | libc::ENODEV | libc::ETIMEDOUT => {}
                // The daemon's own shell would not have started either: the request fails.
                error @ libc::E2BIG => return Err(io::Error::from_raw_os_error(error)),
                other => {
                    failure = other;
                    break;
                }
            }
        }
        self.complain(failure)
    }

    fn try_execute(&self, file: &CStr, argv: *const *const c_char) -> c_int {
        // SAFETY: all three are valid and end with a null; on success the call doesn't return.
        unsafe {
            libc::execve(file.as_ptr(), argv, self.arguments.envp.as_ptr());
            *libc::__errno_location()
        }
    }

    fn complain(&self, failure: c_int) -> ! {
        let (reason, code): (&[u8], c_int) = match failure {
            libc::ENOENT => (b"No such file or directory\n", 127),
            libc::EACCES => (b"Permission denied\n", 126),
            libc::ENOEXEC => (b"Exec format error\n", 126),
            libc::ETXTBSY => (b"Text file busy\n", 126),
            libc::ELOOP => (b"Too many levels of symbolic links\n", 126),
            libc::ENAMETOOLONG => (b"File name too long\n", 126),
            _ => (b"Cannot execute\n", 126),
        };
        for text in [&self.arguments.complaint[..], reason] {
            // SAFETY: the bytes are valid for their length. A failed write has nobody to be told.
            unsafe { libc::write(2, text.as_ptr().cast(), text.len()) };
        }
        // SAFETY: ends the child at once, without the parent's exit handlers.
        unsafe { libc::_exit(code) }
    }
}

/// Default action for every signal and an empty mask: what the daemon ignores or blocks must not
/// reach a process, which would inherit it.
fn reset_signals() {
    // The kernel's own structure, all zero: default action, no flags, nothing masked. By system call,
    // as the C library refuses the two signals that it uses itself.
    let default = [0_u64; 4];
    for signal in 1..=64 {
        // SAFETY: the kernel reads a valid structure. It refuses the two signals that have no action.
        unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, default.as_ptr(), std::ptr::null::<u64>(), 8) };
    }
    // SAFETY: both calls get a valid set; an uninitialized one is filled before use.
    unsafe {
        let mut none = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}

/// Whoever started the daemon may have left descriptors open in it.
fn close_inherited_on_exec() {
    const CLOSE_RANGE_CLOEXEC: libc::c_uint = 4;
    // SAFETY: takes numbers only. An old kernel knows only the call or neither; the daemon's own
    // descriptors are closed on exec anyway.
    unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, CLOSE_RANGE_CLOEXEC) };
}

fn check(result: c_int) -> io::Result<()> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
