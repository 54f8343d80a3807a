//! Why there is no supervisor.

use crate::envd;

/// A failed attempt to get the supervisor to run, or the end of one that ran.
#[derive(Clone, Debug, thiserror::Error)]
pub enum DeliveryError {
    /// The daemon, or the way to it.
    #[error(transparent)]
    Envd(#[from] envd::Error),
    /// It is there, but the system does not run it.
    #[error("the sandbox cannot execute the supervisor: {0}")]
    CannotExecute(String),
    /// There is no build for this machine.
    #[error("the sandbox cannot execute the supervisor: there is none for its machine ({0})")]
    Machine(String),
    /// The runtime root cannot be made or written.
    #[error("the sandbox cannot take the supervisor in: {0}")]
    Prepare(String),
    /// The upload was reported as done, but its file did not show the right size.
    #[error("the sandbox cannot take the supervisor in: the uploaded file did not arrive complete")]
    Upload,
    /// It ended instead of speaking, or after it had spoken.
    #[error("the supervisor's process ended ({status}){}", .stderr.as_ref().map(|text| format!(": {text}")).unwrap_or_default())]
    Ended {
        /// The exit code as the daemon told it.
        exit_code: i32,
        /// The end in words.
        status: String,
        /// The last of what it wrote to stderr.
        stderr: Option<String>,
    },
    /// It said nothing in time.
    #[error("the supervisor did not speak within {0:?}")]
    Silent(std::time::Duration),
    /// The package is damaged.
    #[error("the package's supervisor is damaged: {0}")]
    Package(String),
}

impl DeliveryError {
    /// The stream was read past its end.
    pub(super) fn over() -> Self {
        envd::Error::Transport { unsent: false, message: "the stream is over".into() }.into()
    }

    /// Whether another attempt is of no use.
    pub fn is_final(&self) -> bool {
        match self {
            Self::CannotExecute(_) | Self::Machine(_) | Self::Prepare(_) | Self::Package(_) => true,
            Self::Upload | Self::Ended { .. } | Self::Silent(_) => false,
            Self::Envd(error) => !error.is_lost_link() && !matches!(error, envd::Error::Remote { .. }),
        }
    }
}
