//! `MakeDir`.

use std::{fs, io};

use envd_api::filesystem::{MakeDirRequest, MakeDirResponse};

use super::{
    entry::Entries,
    target::{blocking, target},
};
use crate::envd::{
    connect::{Call, Code, Error},
    path,
};

/// Makes a directory and those above it; new ones belong to the user. Recursive watches see into it
/// before this answers.
///
/// # Errors
/// `already_exists`; `invalid_argument` when there is something else of this name; `internal`.
pub async fn make_dir(call: Call, request: MakeDirRequest) -> Result<MakeDirResponse, Error> {
    blocking(move || {
        let (account, directory) = target(&call, &request.path)?;
        let shown = directory.display();
        match fs::metadata(&directory) {
            Ok(found) if found.is_dir() => {
                return Err(Error::new(Code::AlreadyExists, format!("directory already exists: {shown}")));
            }
            Ok(_) => {
                let message = format!("path already exists but it is not a directory: {shown}");
                return Err(Error::invalid_argument(message));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::internal(format!("error getting file info: {error}"))),
        }
        path::ensure_directories(&directory, &account).map_err(Error::internal)?;
        call.sandbox.watchers.settle();
        Ok(MakeDirResponse { entry: Some(Entries::default().entry(&directory)?) })
    })
    .await
}
