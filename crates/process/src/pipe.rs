//! Pipes and their sizes.
//!
//! Large pipes are fast, but Linux grants one user only so much in all (`pipe-user-pages-soft`), and past it every new
//! pipe of that user, in any process, shrinks to two pages. So only a quarter of it is ever spent here. On macOS the kernel enlarges
//! busy pipes itself, up to 64 KiB, and lets nobody else do it.

use std::io;
use std::os::fd::OwnedFd;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(target_os = "macos")]
use macos as system;

#[cfg(target_os = "linux")]
pub use linux::capacity;
pub use system::{Budget, Grant};

/// What an enlarged pipe holds, in bytes.
pub const LARGE: usize = 1 << 20;

/// A new pipe, both ends close-on-exec and blocking: (read end, write end).
pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    system::pair()
}
