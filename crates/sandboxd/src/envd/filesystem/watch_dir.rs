//! `WatchDir`.

use std::{fs, io, path::Path};

use envd_api::filesystem::{
    WatchDirRequest, WatchDirResponse,
    watch_dir_response::{Event, KeepAlive, StartEvent},
};
use tokio::time::{Instant, sleep_until};

use super::{
    network_mount,
    target::{blocking, target},
    watch::Settings,
};
use crate::envd::connect::{Call, Error, Stream};

/// Streams what happens in a directory; the start event says that the watch is armed.
///
/// # Errors
/// `not_found`; `invalid_argument` for what is no directory or is on a network; `internal`, also later
/// when the watch fails.
pub async fn watch_dir(call: Call, request: WatchDirRequest) -> Result<Stream<WatchDirResponse>, Error> {
    let keepalive = call.keepalive;
    let watch = blocking(move || {
        let settings =
            check(&call, &request.path, request.allow_network_mounts, request.recursive, request.include_entry)?;
        call.sandbox.watchers.watch(settings)
    })
    .await?;
    Ok(Box::pin(async_stream::try_stream! {
        yield response(Event::Start(StartEvent {}));
        let mut silent_since = Instant::now();
        loop {
            let due = sleep_until(silent_since + keepalive);
            let has_changed = tokio::select! {
                () = watch.changed() => true,
                () = due => false,
            };
            let events = if has_changed { watch.take()? } else { Vec::new() };
            if !has_changed {
                yield response(Event::Keepalive(KeepAlive {}));
            }
            if !has_changed || !events.is_empty() {
                silent_since = Instant::now();
            }
            for event in events {
                yield response(Event::Filesystem(event));
            }
        }
    }))
}

/// What a request to watch means.
///
/// # Errors
/// As [`watch_dir`].
pub fn check(
    call: &Call,
    asked: &str,
    allow_network_mounts: bool,
    recursive: bool,
    include_entry: bool,
) -> Result<Settings, Error> {
    let (_, directory) = target(call, asked)?;
    check_directory(&directory)?;
    if !allow_network_mounts {
        network_mount::refuse(&directory)?;
    }
    Ok(Settings { directory, recursive, include_entry })
}

fn check_directory(directory: &Path) -> Result<(), Error> {
    let shown = directory.display();
    match fs::metadata(directory) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(Error::invalid_argument(format!("path {shown} not a directory"))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(Error::not_found(format!("path {shown} not found: {error}")))
        }
        Err(error) => Err(Error::internal(format!("error statting path {shown}: {error}"))),
    }
}

fn response(event: Event) -> WatchDirResponse {
    WatchDirResponse { event: Some(event) }
}
