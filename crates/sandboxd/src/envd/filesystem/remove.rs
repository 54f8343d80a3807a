//! `Remove`.

use std::{fs, io, path::Path};

use envd_api::filesystem::{RemoveRequest, RemoveResponse};

use super::target::{blocking, target};
use crate::envd::connect::{Call, Error};

/// Removes a file, or a directory with all that is in it. What isn't there counts as removed.
///
/// # Errors
/// `internal`.
pub async fn remove(call: Call, request: RemoveRequest) -> Result<RemoveResponse, Error> {
    blocking(move || {
        let (_, path) = target(&call, &request.path)?;
        match remove_all(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Error::internal(format!("error removing file or directory: {}: {error}", path.display())))
            }
            Ok(()) | Err(_) => Ok(RemoveResponse {}),
        }
    })
    .await
}

fn remove_all(path: &Path) -> io::Result<()> {
    if fs::symlink_metadata(path)?.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
}
