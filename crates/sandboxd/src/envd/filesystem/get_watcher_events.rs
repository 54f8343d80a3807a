//! `GetWatcherEvents`.

use envd_api::filesystem::{GetWatcherEventsRequest, GetWatcherEventsResponse};

use super::target::blocking;
use crate::envd::connect::{Call, Error};

/// Takes what a watcher has collected, up to this very moment.
///
/// # Errors
/// `not_found`; `internal` when the watch has failed.
pub async fn get_watcher_events(
    call: Call,
    request: GetWatcherEventsRequest,
) -> Result<GetWatcherEventsResponse, Error> {
    blocking(move || {
        let events = call.sandbox.watchers.find(&request.watcher_id)?.take()?;
        Ok(GetWatcherEventsResponse { events })
    })
    .await
}
