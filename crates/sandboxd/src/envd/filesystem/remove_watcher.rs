//! `RemoveWatcher`.

use envd_api::filesystem::{RemoveWatcherRequest, RemoveWatcherResponse};

use crate::envd::connect::{Call, Error};

/// Ends a watcher and forgets what it has collected.
///
/// # Errors
/// `not_found`.
pub async fn remove_watcher(call: Call, request: RemoveWatcherRequest) -> Result<RemoveWatcherResponse, Error> {
    call.sandbox.watchers.remove(&request.watcher_id)?;
    Ok(RemoveWatcherResponse {})
}
