//! A pseudo terminal: the daemon's end, and making one.

use std::{
    io,
    os::fd::{AsFd as _, OwnedFd},
};

use envd_api::process::pty::Size;
use rustix::{
    fs::{Mode, OFlags},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};
use tokio::io::{Interest, unix::AsyncFd};

use crate::envd::polled::polled;

/// The daemon's end of a pseudo terminal.
#[derive(Debug)]
pub struct Terminal {
    master: AsyncFd<OwnedFd>,
}

impl Terminal {
    /// Makes a pseudo terminal of a size in characters. Gives the daemon's end and the process's.
    ///
    /// # Errors
    /// The system's, e.g. when there are no more terminals.
    pub fn open(size: &Size) -> io::Result<(Self, OwnedFd)> {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        let name = ptsname(&master, Vec::new())?;
        let slave = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?;
        tcsetwinsize(&master, winsize(size))?;
        rustix::io::ioctl_fionbio(&master, true)?;
        Ok((Self { master: polled(master, Interest::READABLE | Interest::WRITABLE)? }, slave))
    }

    /// Changes the size; the foreground processes get SIGWINCH.
    ///
    /// # Errors
    /// The system's.
    pub fn resize(&self, size: &Size) -> io::Result<()> {
        Ok(tcsetwinsize(self.master.as_fd(), winsize(size))?)
    }

    /// Reads what there is into free space; 0 is the end, which is when the last process has closed
    /// its end.
    ///
    /// # Errors
    /// The system's.
    pub async fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.master.async_io(Interest::READABLE, |fd| Ok(rustix::io::read(fd, &mut *buffer)?)).await;
        match read {
            // Linux' way to say that no process has the terminal open.
            Err(error) if error.raw_os_error() == Some(libc::EIO) => Ok(0),
            other => other,
        }
    }

    /// Writes all bytes, as typed by a user.
    ///
    /// # Errors
    /// The system's.
    pub async fn write_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let written = self.master.async_io(Interest::WRITABLE, |fd| Ok(rustix::io::write(fd, bytes)?)).await?;
            bytes = &bytes[written..];
        }
        Ok(())
    }
}

/// Sizes are cut to 16 bits, as the kernel has no more.
fn winsize(size: &Size) -> Winsize {
    let cut = |value: u32| u16::try_from(value & 0xffff).unwrap_or_default();
    Winsize { ws_row: cut(size.rows), ws_col: cut(size.cols), ws_xpixel: 0, ws_ypixel: 0 }
}
