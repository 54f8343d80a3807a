//! Pipes of macOS: their size is the kernel's affair.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::FdFlags;

pub(super) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let (read, write) = rustix::pipe::pipe()?;
    for end in [&read, &write] {
        rustix::io::fcntl_setfd(end, FdFlags::CLOEXEC)?;
    }
    Ok((read, write))
}

/// What may be spent on enlarged pipes: nothing, since none can be enlarged.
#[derive(Debug)]
pub struct Budget;

/// An enlargement of one pipe. There is none on this system.
#[derive(Debug)]
pub enum Grant {}

impl Budget {
    /// Of nothing.
    pub fn of_this_system() -> Self {
        Self
    }

    /// `None`: the pipe stays as it is.
    pub fn enlarge(&mut self, _pipe: impl AsFd) -> Option<Grant> {
        None
    }

    /// Accounts for a pipe that was closed.
    pub fn forget(&mut self, grant: Grant) {
        match grant {}
    }
}
