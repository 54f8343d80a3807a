//! Descriptors that the runtime watches.

use std::{io, os::fd::OwnedFd};

use tokio::io::{Interest, unix::AsyncFd};

/// Has the runtime watch a descriptor, which it owns from then on.
///
/// # Errors
/// The system's, e.g. for a descriptor that can't be polled.
pub fn polled(fd: OwnedFd, interest: Interest) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` is open, always the same descriptor, and closed only when dropped.
    let registered = unsafe { AsyncFd::register_with_interest(fd, interest) };
    registered.map_err(|error| error.into_parts().1)
}
