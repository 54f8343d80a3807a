//! Why something cannot be done with a sandbox.

use crate::boxes;

/// Failures of sandboxes.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such sandbox (any more). Control plane: 404.
    #[error("sandbox \"{0}\" not found")]
    NotFound(String),
    /// Pausing what is paused. Control plane: 409.
    #[error("sandbox \"{0}\" is already paused")]
    Paused(String),
    /// The box failed. Control plane: 500, or 501 where it cannot be paused.
    #[error(transparent)]
    Box(#[from] boxes::Error),
    /// The daemon in the box failed. Control plane: 500.
    #[error("the sandbox daemon failed: {0}")]
    Daemon(String),
}
