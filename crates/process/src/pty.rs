//! Pseudo-terminals.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::Pid;
use rustix::termios::{InputModes, OptionalActions, Winsize};

use crate::pidfd::PidFd;
use crate::session;
use crate::terminate::Denied;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(target_os = "macos")]
use macos as system;

/// The far end of a pseudo-terminal, ours. When it is closed, its session is hung up (SIGHUP to leader and foreground).
#[derive(Debug)]
pub struct Terminal {
    master: OwnedFd,
    device: Device,
    /// Kept open, or the far end would be at its end (`EIO`, for ever ready) whenever the program has closed the terminal,
    /// which it may open again by `/dev/tty`. The program's exit is the end, not this.
    near: Option<OwnedFd>,
}

/// Which terminal something is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// Device number of the near end, as `stat` gives it.
    pub number: u64,
    /// The near end's inode.
    pub inode: u64,
    /// Device number of the file system that this is in.
    pub filesystem: u64,
}

/// What a signal to the foreground group met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signalled {
    /// The group.
    pub group: Pid,
    /// Whether it has members that got the signal.
    pub reached: bool,
    /// Members that did not, since they belong to another user.
    pub denied: Vec<Denied>,
}

/// Why the foreground group was not signalled.
#[derive(Debug, thiserror::Error)]
pub enum ForegroundError {
    /// There is none, or nobody of the session is in it.
    #[error("cannot resolve foreground process group")]
    Unresolved,
    /// SIGKILL at the terminal's own top process is refused: that is termination's business.
    #[error("refusing to send SIGKILL to the terminal's own shell")]
    OwnShell,
    /// The kernel refused.
    #[error("cannot signal the foreground process group: {0}")]
    Refused(#[source] io::Error),
}

impl Terminal {
    /// A new terminal of `rows` × `columns` with the kernel's default modes plus UTF-8 line editing, and its near end for a
    /// program. Both descriptors are close-on-exec; the far end does not block.
    pub fn open(rows: u16, columns: u16) -> io::Result<(Self, OwnedFd)> {
        let (master, near) = system::pair()?;
        let mut modes = rustix::termios::tcgetattr(&near)?;
        modes.input_modes |= InputModes::IUTF8;
        rustix::termios::tcsetattr(&near, OptionalActions::Now, &modes)?;
        crate::stdio::set_nonblocking(&master)?;
        let stat = rustix::fs::fstat(&near)?;
        let device = Device { number: stat.st_rdev as u64, inode: stat.st_ino, filesystem: stat.st_dev as u64 };
        let terminal = Self { master, device, near: Some(near.try_clone()?) };
        terminal.resize(rows, columns)?;
        Ok((terminal, near))
    }

    /// Which terminal it is.
    pub fn device(&self) -> Device {
        self.device
    }

    /// Changes the size; the foreground group gets SIGWINCH from the kernel when it differs.
    pub fn resize(&self, rows: u16, columns: u16) -> io::Result<()> {
        self.hand_over();
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        Ok(rustix::termios::tcsetwinsize(&self.master, size)?)
    }

    /// The program has exited: from now on the end of its output is where nobody has the near end open.
    pub fn program_exited(&mut self) {
        self.near = None;
    }

    /// Reads output. Once the program has exited, `WouldBlock` is the end: nothing of it is under way any more, since the
    /// kernel delivers what was written before it says so. `Ok(0)` (its `EIO`) is the end, too.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match rustix::io::retry_on_intr(|| rustix::io::read(&self.master, &mut *buffer)) {
            Ok(count) => Ok(count),
            Err(Errno::IO) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes input; may take a part only, or nothing (`WouldBlock`).
    pub fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::io::retry_on_intr(|| rustix::io::write(&self.master, bytes))?)
    }

    /// What was written has come to its readers when this returns. The kernel passes it on in a thread of its own, which whoever asks about the
    /// terminal, or signals, would overtake; a poll of the near end that finds nothing to read waits for that thread (`n_tty_poll`).
    fn hand_over(&self) {
        if let Some(near) = &self.near {
            let mut set = [PollFd::new(near, PollFlags::IN)];
            let _ = poll(&mut set, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
        }
    }

    /// The foreground process group after what was written, if there is one.
    pub fn foreground(&self) -> Option<Pid> {
        self.hand_over();
        let mut group: libc::pid_t = 0;
        // SAFETY: TIOCGPGRP fills one number. Not the wrapper: the kernel's 0 (none) is no error here.
        let result =
            unsafe { libc::ioctl(std::os::fd::AsRawFd::as_raw_fd(&self.master), libc::TIOCGPGRP as _, &raw mut group) };
        if result == 0 && group > 0 { Pid::from_raw(group) } else { None }
    }

    /// Sends `signal` to exactly the foreground group of the session led by `leader` (unreaped). Members of another user are
    /// reached as far as the terminal itself can.
    pub fn signal_foreground(&self, leader: Pid, signal: i32) -> Result<Signalled, ForegroundError> {
        let group = self.foreground().ok_or(ForegroundError::Unresolved)?;
        if signal == libc::SIGKILL && group == leader {
            return Err(ForegroundError::OwnShell);
        }
        let mut members = session::members(leader).map_err(ForegroundError::Refused)?;
        members.retain(|member| member.stat.group == group.as_raw_pid());
        if members.is_empty() {
            return Err(ForegroundError::Unresolved);
        }
        let denies = |pidfd: &PidFd| pidfd.send(0).is_err_and(|error| error.raw_os_error() == Some(libc::EPERM));
        let denied = members.iter().filter(|member| denies(&member.pidfd)).map(|member| {
            let user = Pid::from_raw(member.stat.pid).and_then(|pid| crate::table::user(pid).ok());
            Denied { pid: member.stat.pid, uid: user.unwrap_or(u32::MAX), start_time: member.stat.start_time }
        });
        let denied: Vec<Denied> = denied.collect();
        if !denied.is_empty() && system::signal(&self.master, signal) {
            return Ok(Signalled { group, reached: true, denied: Vec::new() });
        }
        // A living member of the session, held open above, is in that group: the number is not anybody else's.
        // SAFETY: `group` is ≥ 1, and 1 leads no group of our session, so this is never kill(-1).
        match unsafe { libc::kill(-group.as_raw_pid(), signal) } {
            0 => Ok(Signalled { group, reached: true, denied }),
            _ => match io::Error::last_os_error() {
                error if error.raw_os_error() == Some(libc::EPERM) && !denied.is_empty() => {
                    Ok(Signalled { group, reached: false, denied })
                }
                error => Err(ForegroundError::Refused(error)),
            },
        }
    }
}

impl AsFd for Terminal {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.master.as_fd()
    }
}

#[cfg(test)]
#[path = "pty_tests.rs"]
mod tests;
