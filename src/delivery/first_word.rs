//! Starting something that shall become the supervisor, and waiting for its first word.

use std::time::Duration;

use crate::envd::{Ended, Envd, Error, Event, Start};

use super::{
    attachment::Attachment,
    error::DeliveryError,
    running::Running,
    script::{EXIT_MACHINE, EXIT_PREPARE, EXIT_UPLOAD, MACHINE_MARK},
    stderr_tail::StderrTail,
};

/// Why nothing spoke.
#[derive(Debug)]
pub(super) enum Mute {
    /// The daemon has no such program, or no shell for it: the next way may work.
    NotStarted(DeliveryError),
    /// The shell line saw another machine.
    OtherMachine(String),
    /// The shell line saw no complete upload.
    NoUpload,
    /// The file was not there, or what would interpret it is not: another harness that ended may have removed it just then.
    NotThere(String),
    /// It failed.
    Failed(DeliveryError),
}

impl Mute {
    /// As an error, where there is no other way left.
    pub(super) fn into_error(self) -> DeliveryError {
        match self {
            Self::NotStarted(error) | Self::Failed(error) => error,
            Self::OtherMachine(name) => DeliveryError::Machine(name),
            Self::NoUpload => DeliveryError::Upload,
            Self::NotThere(text) => DeliveryError::CannotExecute(text),
        }
    }
}

/// Starts `start`; `path` is the file that shall be executed in the end. The supervisor
/// speaks first, so its first bytes prove that it runs; they stay in the attachment's output.
pub(super) async fn first_word(envd: &Envd, start: Start, path: &str, running: &Running) -> Result<Attachment, Mute> {
    let mut process = running.start(start).await.map_err(|error| match error {
        // How daemons put it that they cannot execute something.
        Error::Invalid(_) | Error::NotFound(_) | Error::Remote { .. } => Mute::NotStarted(error.into()),
        other => Mute::Failed(other.into()),
    })?;
    let mut stderr = StderrTail::default();
    loop {
        match process.output.next().await.map_err(|error| Mute::Failed(error.into()))? {
            Some(word @ Event::Stdout(_)) => {
                process.output.put_back(word);
                return Ok(Attachment::new(envd.clone(), process.pid, process.output, stderr));
            }
            Some(Event::Stderr(bytes)) => stderr.push(&bytes),
            Some(Event::Ended(ended)) => {
                running.forget();
                return Err(classify(&ended, &stderr, path));
            }
            None => return Err(Mute::Failed(DeliveryError::over())),
        }
    }
}

/// Waits for `word` no longer than `patience`.
pub(super) async fn in_time(
    patience: Duration,
    word: impl Future<Output = Result<Attachment, Mute>>,
) -> Result<Attachment, Mute> {
    tokio::time::timeout(patience, word).await.unwrap_or(Err(Mute::Failed(DeliveryError::Silent(patience))))
}

fn classify(ended: &Ended, stderr: &StderrTail, path: &str) -> Mute {
    let text = stderr.text().unwrap_or_default();
    match ended.exit_code {
        EXIT_MACHINE => {
            Mute::OtherMachine(text.rsplit_once(MACHINE_MARK).map_or(text.as_str(), |(_, name)| name).trim().to_owned())
        }
        EXIT_UPLOAD => Mute::NoUpload,
        EXIT_PREPARE => Mute::Failed(DeliveryError::Prepare(text)),
        127 if text.contains(path) => Mute::NotThere(text),
        // A shell takes a file that the kernel refuses for a script of its own and stumbles over it (2).
        2 | 126 if text.contains(path) => Mute::NotStarted(DeliveryError::CannotExecute(text)),
        126 | 127 => {
            Mute::NotStarted(DeliveryError::CannotExecute(if text.is_empty() { ended.status.clone() } else { text }))
        }
        exit_code => {
            Mute::Failed(DeliveryError::Ended { exit_code, status: ended.status.clone(), stderr: stderr.text() })
        }
    }
}
