//! `ListDir`.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use envd_api::filesystem::{EntryInfo, ListDirRequest, ListDirResponse};

use super::{
    entry::Entries,
    target::{blocking, target},
};
use crate::envd::connect::{Call, Code, Error};

/// The entries below a directory, down to a depth (0 is 1), each before what is below it, by name.
/// A link to a directory is listed, under the asked path; links below it are not followed.
///
/// # Errors
/// `not_found`; `invalid_argument` for anything but a directory; `failed_precondition` for a loop of
/// links; `internal`.
pub async fn list_dir(call: Call, request: ListDirRequest) -> Result<ListDirResponse, Error> {
    blocking(move || {
        let (_, asked) = target(&call, &request.path)?;
        let directory = follow(&asked)?;
        let mut listing = Listing { asked, directory, entries: Entries::default(), found: Vec::new() };
        listing.walk(Path::new(""), request.depth.max(1))?;
        Ok(ListDirResponse { entries: listing.found })
    })
    .await
}

fn follow(path: &Path) -> Result<PathBuf, Error> {
    let directory = fs::canonicalize(path).map_err(|error| match (error.kind(), error.raw_os_error()) {
        (io::ErrorKind::NotFound, _) => Error::not_found(format!("path not found: {}: {error}", path.display())),
        (_, Some(libc::ELOOP)) => Error::new(
            Code::FailedPrecondition,
            format!("cyclic symlink or chain >255 links at {:?}", path.display().to_string()),
        ),
        _ => Error::internal(format!("error resolving symlink: {}: {error}", path.display())),
    })?;
    match fs::metadata(&directory) {
        Ok(found) if found.is_dir() => Ok(directory),
        Ok(_) => Err(Error::invalid_argument(format!("path is not a directory: {}", directory.display()))),
        Err(error) => Err(Error::internal(format!("error getting file info: {error}"))),
    }
}

struct Listing {
    asked: PathBuf,
    directory: PathBuf,
    entries: Entries,
    found: Vec<EntryInfo>,
}

impl Listing {
    fn walk(&mut self, below: &Path, depth: u32) -> Result<(), Error> {
        let directory = self.directory.join(below);
        let broken =
            |error: io::Error| Error::internal(format!("error reading directory {}: {error}", directory.display()));
        let names = match fs::read_dir(&directory) {
            // It has gone since it was listed.
            Err(error) if error.kind() == io::ErrorKind::NotFound && below != Path::new("") => return Ok(()),
            read => read.map_err(broken)?,
        };
        let mut names = names.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>().map_err(broken)?;
        names.sort();
        for name in names {
            let relative = below.join(&name);
            let mut entry = match self.entries.entry(&self.directory.join(&relative)) {
                Err(error) if error.code == Code::NotFound => continue,
                entry => entry?,
            };
            let is_directory = entry.permissions.starts_with('d');
            entry.path = self.asked.join(&relative).to_string_lossy().into_owned();
            self.found.push(entry);
            if is_directory && depth > 1 {
                self.walk(&relative, depth - 1)?;
            }
        }
        Ok(())
    }
}
