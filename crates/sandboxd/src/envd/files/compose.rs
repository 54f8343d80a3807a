//! `POST /files/compose`: one file out of several.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::{OpenOptionsExt as _, fchown},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use axum::{
    body::{self, Body},
    extract::{Request, State},
    http::{HeaderValue, Response, StatusCode, header::CONTENT_TYPE},
};
use serde::Deserialize;

use super::{entry::Entry, failure::Failure};
use crate::envd::{account::Account, path, sandbox::Sandbox};

const NO_SPACE: &str = "not enough disk space available";

#[derive(Debug, Deserialize)]
struct ComposeRequest {
    #[serde(default)]
    source_paths: Vec<String>,
    #[serde(default)]
    destination: String,
    username: Option<String>,
}

/// Joins files in order and removes them; the destination appears as a whole or not at all.
/// Answers with its entry; 400 for what can't be meant, 401 for an unknown user, 404 for a missing
/// source, 507 for a full file system.
pub async fn compose(State(sandbox): State<Arc<Sandbox>>, request: Request) -> Response<Body> {
    let composed = match body::to_bytes(request.into_body(), usize::MAX).await {
        Err(error) => Err(Failure::bad_request(format!("invalid request body: {error}"))),
        Ok(bytes) => match serde_json::from_slice(&bytes) {
            Err(error) => Err(Failure::bad_request(format!("invalid request body: {error}"))),
            Ok(request) => tokio::task::spawn_blocking(move || join(&sandbox, &request))
                .await
                .unwrap_or_else(|error| Err(Failure::internal(error))),
        },
    };
    match composed.and_then(|entry| serde_json::to_string(&entry).map_err(Failure::internal)) {
        Ok(text) => {
            let mut response = Response::new(Body::from(text + "\n"));
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            response
        }
        Err(failure) => failure.into_response(),
    }
}

fn join(sandbox: &Sandbox, request: &ComposeRequest) -> Result<Entry, Failure> {
    if request.source_paths.is_empty() {
        return Err(Failure::bad_request("source_paths must not be empty"));
    }
    if request.destination.is_empty() {
        return Err(Failure::bad_request("destination is required"));
    }
    let defaults = sandbox.defaults();
    let account = Account::by_name(request.username.as_deref().unwrap_or(&defaults.user))
        .map_err(|error| Failure::new(StatusCode::UNAUTHORIZED, error))?;
    let resolve = |asked: &str, what: &str| {
        path::resolve(asked, &account, defaults.directory.as_deref())
            .map_err(|error| Failure::bad_request(format!("error resolving {what} path: {error}")))
    };
    let destination = resolve(&request.destination, "destination")?;
    let sources: Vec<PathBuf> = request
        .source_paths
        .iter()
        .map(|asked| {
            let source = resolve(asked, "source")?;
            check_source(asked, &source, &destination).map(|()| source)
        })
        .collect::<Result<_, _>>()?;
    path::ensure_directories(&path::parent(&destination), &account)
        .map_err(|error| Failure::internal(format!("error ensuring directories: {error}")))?;
    sandbox.watchers.settle();

    let temporary = temporary_name(&destination);
    let joined = write_joined(&temporary, &sources, &account).and_then(|()| {
        fs::rename(&temporary, &destination)
            .map_err(|error| Failure::internal(format!("error finalizing compose: {error}")))
    });
    if joined.is_err() {
        // Best effort: the failure to report is the one before.
        let _ = fs::remove_file(&temporary);
    }
    joined?;
    for source in &sources {
        // The content is safe; a source that can't be removed doesn't undo that.
        let _ = fs::remove_file(source);
    }
    Ok(Entry::of(&destination))
}

fn check_source(asked: &str, source: &Path, destination: &Path) -> Result<(), Failure> {
    if source == destination {
        return Err(Failure::bad_request(format!("source path {asked:?} cannot be the same as destination")));
    }
    match fs::metadata(source) {
        Err(_) => Err(Failure::new(StatusCode::NOT_FOUND, format!("source file not found: {asked}"))),
        Ok(found) if found.is_file() => Ok(()),
        Ok(_) => Err(Failure::bad_request(format!("source path is not a regular file: {asked}"))),
    }
}

fn write_joined(temporary: &Path, sources: &[PathBuf], account: &Account) -> Result<(), Failure> {
    let failed = |what: String| move |error: io::Error| Failure::of_write(&error, NO_SPACE, &what);
    let mut file = File::options()
        .write(true)
        .create_new(true)
        .mode(0o666)
        .open(temporary)
        .map_err(failed("error creating destination file".into()))?;
    fchown(&file, Some(account.uid), Some(account.gid)).map_err(failed("error changing file ownership".into()))?;
    for source in sources {
        let shown = source.display();
        let mut part = File::open(source).map_err(failed(format!("error opening source file {shown}")))?;
        io::copy(&mut part, &mut file).map_err(failed(format!("error composing source {shown}")))?;
    }
    Ok(())
}

/// Beside the destination, so that the rename stays within one file system.
fn temporary_name(destination: &Path) -> PathBuf {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let mut name = destination.as_os_str().to_owned();
    name.push(format!(".e2b-compose.{}-{number}.tmp", std::process::id()));
    name.into()
}
