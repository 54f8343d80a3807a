//! Writing one uploaded file.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Write as _},
    os::unix::fs::{OpenOptionsExt as _, chown, fchown},
    path::{Path, PathBuf},
    sync::Arc,
};

use axum::http::StatusCode;
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use tokio::sync::mpsc;

use super::failure::Failure;
use crate::envd::{account::Account, filesystem::metadata, path, sandbox::Sandbox};

const NO_SPACE: &str = "not enough disk space available";

/// How many pieces of a body may wait for the disk.
const QUEUE: usize = 8;

/// Where an upload goes and whose it is.
#[derive(Clone)]
pub struct Target {
    /// For its watchers.
    pub sandbox: Arc<Sandbox>,
    /// The new owner of the file and of directories made for it.
    pub account: Account,
    /// Replaces the file's metadata as a whole.
    pub metadata: BTreeMap<String, String>,
}

/// Writes a body to a file, in place and not atomically. An existing file keeps its mode, a new one
/// gets 0666 less the umask. A new file is exactly three events for a watcher: created, attributes,
/// written.
///
/// # Errors
/// 400 for a directory, 507 for a full file system, 500 for all else, also for a body that breaks off;
/// what was written until then stays.
pub async fn store<E: std::fmt::Display>(
    target: Target,
    file: PathBuf,
    body: impl Stream<Item = Result<Bytes, E>>,
) -> Result<(), Failure> {
    let (sender, pieces) = mpsc::channel(QUEUE);
    let writer = tokio::task::spawn_blocking(move || write(&target, &file, pieces));
    tokio::pin!(body);
    let mut broken = None;
    loop {
        let piece = match body.next().await {
            Some(Ok(bytes)) => Some(bytes),
            Some(Err(error)) => {
                broken = Some(error.to_string());
                break;
            }
            None => None,
        };
        let is_last = piece.is_none();
        // An error is a writer that has failed; it says why below.
        if sender.send(piece).await.is_err() || is_last {
            break;
        }
    }
    drop(sender);
    let written = writer.await.map_err(|error| Failure::internal(format!("error writing file: {error}")))?;
    match broken {
        Some(error) => Err(Failure::internal(format!("error writing file: {error}"))),
        None => written,
    }
}

/// The blocking part. `None` among the pieces is the end; pieces that end without it are a client
/// that has left.
fn write(target: &Target, path: &Path, mut pieces: mpsc::Receiver<Option<Bytes>>) -> Result<(), Failure> {
    // Waiting for the first piece keeps truncation and writing together, for watchers and readers.
    let mut piece = pieces.blocking_recv();
    let mut file = open(target, path)?;
    while let Some(Some(bytes)) = &piece {
        file.write_all(bytes).map_err(|error| Failure::of_write(&error, NO_SPACE, "error writing file"))?;
        piece = pieces.blocking_recv();
    }
    if piece.is_none() {
        return Err(Failure::internal("error writing file: unexpected EOF"));
    }
    match metadata::replace(&file, &target.metadata) {
        Err(error) if metadata::is_unsupported(&error) => {
            tracing::warn!(path = %path.display(), "no metadata on this file system");
            Ok(())
        }
        other => other.map_err(|error| {
            let full = format!("not enough space for file metadata: {error}");
            Failure::of_write(&error, &full, "error writing file metadata")
        }),
    }
}

fn open(target: &Target, path: &Path) -> Result<File, Failure> {
    let Account { uid, gid, .. } = target.account;
    path::ensure_directories(&path::parent(path), &target.account)
        .map_err(|error| Failure::internal(format!("error ensuring directories: {error}")))?;
    // A watcher of the directory above has to see what happens in a new one.
    target.sandbox.watchers.settle();

    let chown_failed = |error: &io::Error| Failure::internal(format!("error changing file ownership: {error}"));
    let exists = match fs::metadata(path) {
        Ok(found) if found.is_dir() => {
            return Err(Failure::new(StatusCode::BAD_REQUEST, format!("path is a directory: {}", path.display())));
        }
        Ok(_) => true,
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => return Err(Failure::internal(format!("error getting file info: {error}"))),
    };
    let mut has_owner = false;
    if exists {
        match chown(path, Some(uid), Some(gid)) {
            Ok(()) => has_owner = true,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(chown_failed(&error)),
        }
    }
    let file = File::options()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o666)
        .open(path)
        .map_err(|error| Failure::of_write(&error, "not enough inodes available", "error opening file"))?;
    if !has_owner {
        fchown(&file, Some(uid), Some(gid)).map_err(|error| chown_failed(&error))?;
    }
    Ok(file)
}
