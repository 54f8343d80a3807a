//! Why the daemon stopped.

use std::io;

/// Why the daemon stopped other than by its shutdown.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The listening socket can't be used.
    #[error("listener: {0}")]
    Listener(#[source] io::Error),
    /// Accepting failed for good.
    #[error("serving: {0}")]
    Serve(#[source] io::Error),
}
