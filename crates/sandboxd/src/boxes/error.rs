//! Why a box could not be started or steered.

/// Failures of boxes.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The host side could not prepare the box' directory or start its monitor.
    #[error("cannot prepare the sandbox: {0}")]
    Prepare(#[from] std::io::Error),
    /// The monitor or pid 1 refused, with the step that failed.
    #[error("cannot build the sandbox: {0}")]
    Build(String),
    /// The box did not get ready in time.
    #[error("the sandbox did not get ready within {0} s")]
    Slow(u64),
    /// The box has ended.
    #[error("the sandbox has ended")]
    Ended,
    /// This kind of box cannot be paused.
    #[error("a sandbox without isolation cannot be paused")]
    NoPause,
    /// No kind of isolation works here.
    #[error(
        "namespaces are refused here, so sandboxes would not be isolated: {0}\n\
         Start as root, or allow unprivileged user namespaces, or accept programs that see the whole host \
         as your user with --no-isolation."
    )]
    NoIsolation(String),
}
