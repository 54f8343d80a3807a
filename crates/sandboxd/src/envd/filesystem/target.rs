//! What most calls begin and end with.

use std::path::PathBuf;

use crate::envd::{
    account::Account,
    connect::{Call, Error},
    path,
};

/// The user of a call and the path that it means.
///
/// # Errors
/// `unauthenticated` for an unknown user, `invalid_argument` for `~other`.
pub fn target(call: &Call, asked: &str) -> Result<(Account, PathBuf), Error> {
    let account = call.user()?;
    let path = resolve(call, &account, asked)?;
    Ok((account, path))
}

/// The path that a call means, for its user.
///
/// # Errors
/// `invalid_argument` for `~other`.
pub fn resolve(call: &Call, account: &Account, asked: &str) -> Result<PathBuf, Error> {
    path::resolve(asked, account, call.sandbox.defaults().directory.as_deref()).map_err(Error::invalid_argument)
}

/// Runs what waits for a disk.
///
/// # Errors
/// Those of the work; `internal` when it panics.
pub async fn blocking<Out: Send + 'static>(
    work: impl FnOnce() -> Result<Out, Error> + Send + 'static,
) -> Result<Out, Error> {
    tokio::task::spawn_blocking(work).await.map_err(|error| Error::internal(error.to_string()))?
}
