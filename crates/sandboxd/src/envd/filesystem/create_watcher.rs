//! `CreateWatcher`.

use envd_api::filesystem::{CreateWatcherRequest, CreateWatcherResponse};

use super::{target::blocking, watch_dir};
use crate::envd::connect::{Call, Error};

/// Begins to collect what happens in a directory, until the watcher is removed.
///
/// # Errors
/// As `WatchDir`.
pub async fn create_watcher(call: Call, request: CreateWatcherRequest) -> Result<CreateWatcherResponse, Error> {
    let CreateWatcherRequest { path, recursive, include_entry, allow_network_mounts } = request;
    blocking(move || {
        let settings = watch_dir::check(&call, &path, allow_network_mounts, recursive, include_entry)?;
        let watch = call.sandbox.watchers.watch(settings)?;
        Ok(CreateWatcherResponse { watcher_id: call.sandbox.watchers.keep(watch)? })
    })
    .await
}
