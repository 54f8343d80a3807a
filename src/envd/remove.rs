//! `Filesystem.Remove`.

use envd_api::filesystem::RemoveRequest;

use super::{
    client::{Envd, with_client},
    error::Error,
};

impl Envd {
    /// Removes a file or a whole directory; one that is missing is no error.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn remove(&self, path: &str) -> Result<(), Error> {
        let message = RemoveRequest { path: path.to_owned() };
        let call = self.negotiate(|codec| {
            let (service, message) = (self.service(&self.lanes().calls, codec), message.clone());
            async { with_client!(filesystem::filesystem_client::FilesystemClient, service, client => client.remove(message).await) }
        });
        match self.in_time("removing a file", call).await {
            Ok(_) | Err(Error::NotFound(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
