//! The upload of an attempt, and the file that it leaves.

use std::time::Duration;

use tokio::task::JoinHandle;

use crate::envd::{Envd, Error, Upload};

use super::{
    attachment::Attachment,
    binary::SupervisorBinary,
    error::DeliveryError,
    first_word::{Mute, in_time},
};

/// An upload that goes on by itself. When this is dropped, the file is removed as soon as the upload is through.
pub(super) struct Uploading {
    envd: Envd,
    path: String,
    task: Option<JoinHandle<Result<(), DeliveryError>>>,
    wanted: bool,
}

impl Uploading {
    /// Begins to upload `binary` to `path`.
    pub(super) fn begin(envd: &Envd, path: &str, binary: &SupervisorBinary, compressed: bool) -> Self {
        let task = tokio::spawn(upload(envd.clone(), path.to_owned(), binary.clone(), compressed));
        Self { envd: envd.clone(), path: path.to_owned(), task: Some(task), wanted: false }
    }

    /// Waits until it is through.
    pub(super) async fn done(&mut self) -> Result<(), DeliveryError> {
        let Some(task) = &mut self.task else { return Ok(()) };
        let outcome = task.await.unwrap_or_else(|failed| Err(DeliveryError::Package(failed.to_string())));
        self.task = None;
        outcome
    }

    /// Waits for `word`, whether the upload is through or not; a failed upload ends the waiting. While it goes on, it may be what is waited
    /// for; afterwards `word` has `patience` to come.
    pub(super) async fn beside(
        &mut self,
        patience: Duration,
        word: impl Future<Output = Result<Attachment, Mute>>,
    ) -> Result<Attachment, Mute> {
        tokio::pin!(word);
        tokio::select! {
            outcome = &mut word => outcome,
            uploaded = self.done() => match uploaded {
                Ok(()) => in_time(patience, word).await,
                Err(error) => Err(Mute::Failed(error)),
            },
        }
    }

    /// The file itself is used from now on: it stays.
    pub(super) fn keep(&mut self) {
        self.wanted = true;
    }
}

impl Drop for Uploading {
    fn drop(&mut self) {
        let (false, Ok(runtime)) = (self.wanted, tokio::runtime::Handle::try_current()) else { return };
        let (envd, path, task) = (self.envd.clone(), std::mem::take(&mut self.path), self.task.take());
        runtime.spawn(async move {
            if let Some(task) = task {
                // Cut off, it might be written after it was removed.
                let _ = task.await;
            }
            if let Err(error) = envd.remove(&path).await {
                tracing::debug!(%error, path, "an upload could not be removed");
            }
        });
    }
}

async fn upload(envd: Envd, path: String, binary: SupervisorBinary, compressed: bool) -> Result<(), DeliveryError> {
    let failed = |error| match error {
        Error::Storage(message) => DeliveryError::Prepare(message),
        other => other.into(),
    };
    if compressed {
        match envd.upload(&path, Upload::Gzip(binary.gzip.clone())).await {
            // An older server: the form is what all of them know.
            Err(Error::Invalid(_) | Error::Unsupported(_)) => {}
            outcome => return outcome.map_err(failed),
        }
    }
    envd.upload(&path, Upload::Form(binary.unpacked()?)).await.map_err(failed)
}
