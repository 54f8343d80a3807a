//! What happens between fork and exec: only system calls, on memory prepared before.

use std::{
    ffi::{CStr, CString, NulError, c_char, c_int},
    io,
    os::unix::ffi::OsStrExt as _,
    path::Path,
};

use super::arguments::Arguments;
use crate::envd::account::Account;

/// All that the child needs, allocated before the fork.
pub struct Child {
    arguments: Arguments,
    directory: CString,
    uid: libc::uid_t,
    gid: libc::gid_t,
    groups: Vec<libc::gid_t>,
    /// Whether the daemon is this account already; it need not be root then.
    is_own: bool,
    has_terminal: bool,
}

impl Child {
    /// Prepares a child.
    ///
    /// # Errors
    /// A zero byte in the directory.
    pub fn new(
        arguments: Arguments,
        directory: &Path,
        account: &Account,
        has_terminal: bool,
    ) -> Result<Self, NulError> {
        let own = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        Ok(Self {
            arguments,
            directory: CString::new(directory.as_os_str().as_bytes())?,
            uid: account.uid,
            gid: account.gid,
            groups: account.groups(),
            is_own: own == (account.uid, account.gid),
            has_terminal,
        })
    }

    /// Turns the forked child into the process. Runs between fork and exec: no allocation, no locks.
    /// Comes back only with an error that is the request's fault or the system's.
    pub fn become_process(&self) -> io::Result<()> {
        if self.has_terminal {
            // SAFETY: setsid and this ioctl take no memory of ours; descriptor 0 is the terminal.
            unsafe {
                check(libc::setsid())?;
                check(libc::ioctl(0, libc::TIOCSCTTY, 0))?;
            }
        }
        // SAFETY: `groups` is valid for its length; the calls change only this process.
        unsafe {
            let groups = check(libc::setgroups(self.groups.len(), self.groups.as_ptr()));
            if !self.is_own {
                groups?;
                check(libc::setgid(self.gid))?;
                check(libc::setuid(self.uid))?;
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
