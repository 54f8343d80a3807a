//! Descriptors that a task waits for.

use std::{io, os::fd::OwnedFd, sync::Arc};

use tokio::io::{Interest, unix::AsyncFd};

/// Watches a non-blocking descriptor on the current runtime.
///
/// # Errors
/// When the kernel has no room for one more, or it is of a kind that can't be waited for.
pub fn watch(descriptor: impl Into<Arc<OwnedFd>>, interest: Interest) -> io::Result<AsyncFd<Arc<OwnedFd>>> {
    // SAFETY: owned, so it is the same open file until it is dropped, after it was unregistered.
    Ok(unsafe { AsyncFd::register_with_interest(descriptor.into(), interest) }?)
}
