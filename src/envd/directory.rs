//! Directories by the daemon's `Filesystem` service, which acts as root: for places that the sandbox user may not make.

use envd_api::filesystem::{FileType, MakeDirRequest, StatRequest};

use super::{
    client::{Envd, with_client},
    error::Error,
};

/// What a path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A directory itself.
    Directory,
    /// A symbolic link, whatever it leads to.
    Link,
    /// Something else.
    Other,
}

/// Whether a directory was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Made {
    /// It and what was missing above it were made; they are the sandbox user's.
    New,
    /// There was a directory, or a link to one.
    Existed,
}

impl Envd {
    /// Makes a directory, and those above it that are missing.
    ///
    /// # Errors
    /// [`Error`]; [`Error::Invalid`] when the path is something else already.
    pub(crate) async fn make_dir(&self, path: &str) -> Result<Made, Error> {
        let message = MakeDirRequest { path: path.to_owned() };
        let call = self.negotiate(|codec| {
            let (service, message) = (self.service(&self.lanes().calls, codec), message.clone());
            async { with_client!(filesystem::filesystem_client::FilesystemClient, service, client => client.make_dir(message).await) }
        });
        match self.in_time("making a directory", call).await {
            Ok(_) => Ok(Made::New),
            Err(Error::Remote { code: "already_exists", .. }) => Ok(Made::Existed),
            Err(error) => Err(error),
        }
    }

    /// Looks at a path without following it.
    ///
    /// # Errors
    /// [`Error`]; [`Error::NotFound`] when there is nothing.
    pub(crate) async fn kind(&self, path: &str) -> Result<Kind, Error> {
        let message = StatRequest { path: path.to_owned() };
        let call = self.negotiate(|codec| {
            let (service, message) = (self.service(&self.lanes().calls, codec), message.clone());
            async { with_client!(filesystem::filesystem_client::FilesystemClient, service, client => client.stat(message).await) }
        });
        let entry = self.in_time("looking at a path", call).await?.into_inner().entry.unwrap_or_default();
        // The type is that of the link's target; the target's path tells that there is a link.
        Ok(match entry.r#type() {
            _ if entry.symlink_target.is_some() => Kind::Link,
            FileType::Symlink => Kind::Link,
            FileType::Directory => Kind::Directory,
            _ => Kind::Other,
        })
    }
}
