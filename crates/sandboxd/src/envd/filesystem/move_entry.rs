//! `Move`.

use std::{fs, io};

use envd_api::filesystem::{MoveRequest, MoveResponse};

use super::{
    entry::Entries,
    target::{blocking, resolve},
};
use crate::envd::{
    connect::{Call, Error},
    path,
};

/// Renames, over an existing file if need be. Directories above the destination are made first, even
/// if there is nothing to move then.
///
/// # Errors
/// `not_found` for a missing source; `internal` for all else, also across file systems.
pub async fn move_entry(call: Call, request: MoveRequest) -> Result<MoveResponse, Error> {
    blocking(move || {
        let account = call.user()?;
        let source = resolve(&call, &account, &request.source)?;
        let destination = resolve(&call, &account, &request.destination)?;
        path::ensure_directories(&path::parent(&destination), &account).map_err(Error::internal)?;
        fs::rename(&source, &destination).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                Error::not_found(format!("source file not found: rename {}: {error}", source.display()))
            }
            _ => Error::internal(format!("error renaming: rename {}: {error}", source.display())),
        })?;
        call.sandbox.watchers.settle();
        Ok(MoveResponse { entry: Some(Entries::default().entry(&destination)?) })
    })
    .await
}
