//! What can go wrong between the host and a sandbox' daemon, as one typed error.

use std::{sync::Arc, time::Duration};

use tonic::{Code, Status};

/// A failed operation. No message holds a token.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// The token is missing, stale or wrong, or the user is unknown (401). Never retried.
    #[error("the sandbox refused the credentials: {0}")]
    Unauthorized(String),
    /// The edge or the daemon forbids it (403).
    #[error("the sandbox denied the request: {0}")]
    Denied(String),
    /// The control plane says that the sandbox does not exist any more. Nothing that the data plane says becomes this.
    #[error("sandbox {0} is gone")]
    Gone(String),
    /// The edge cannot reach the sandbox, or it limits us: a lost link, whatever the body says.
    #[error("the sandbox is not reachable{}: {message}", .status.map(|status| format!(" (HTTP {status})")).unwrap_or_default())]
    Unavailable {
        /// The HTTP status, when it was one.
        status: Option<u16>,
        /// The peer's own words.
        message: String,
    },
    /// The named process or file does not exist.
    #[error("not found: {0}")]
    NotFound(String),
    /// The server does not have this operation, or not with this encoding (404 without a Connect error, 405, 415, 501).
    #[error("the server does not support this: {0}")]
    Unsupported(String),
    /// The request was understood and refused (400: working directory, program, path).
    #[error("the sandbox refused the request: {0}")]
    Invalid(String),
    /// The sandbox' disk does not take a file: it is full or can't be written, or something else is where a folder should be.
    #[error("the sandbox cannot store the file: {0}")]
    Storage(String),
    /// No answer in time. The request may have been carried out.
    #[error("no answer within {0:?} while {1}")]
    Timeout(Duration, &'static str),
    /// The peer broke the protocol.
    #[error("protocol error: {0}")]
    Protocol(String),
    /// The connection could not be made, or broke.
    #[error("connection failed: {message}")]
    Transport {
        /// Whether the request provably never left: only then may it be repeated.
        unsent: bool,
        /// What the network said, without the address.
        message: String,
    },
    /// The daemon failed in another way.
    #[error("the sandbox failed ({code}): {message}")]
    Remote {
        /// The Connect code.
        code: &'static str,
        /// The daemon's words.
        message: String,
    },
    /// The settings cannot make a client.
    #[error("cannot set up the client: {0}")]
    Setup(String),
}

/// Where a [`Status`] of our Connect layer comes from; rides as its source. A status without one was made by tonic: a broken message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Cause {
    #[error("the peer's own error")]
    Answer,
    #[error("HTTP status {0}")]
    Http(u16),
    #[error("the connection")]
    Transport { unsent: bool },
    #[error("the protocol")]
    Protocol,
}

impl Cause {
    /// A status that carries its cause.
    pub(crate) fn status(self, code: Code, message: impl Into<String>) -> Status {
        let mut status = Status::new(code, message);
        status.set_source(Arc::new(self));
        status
    }

    /// The cause that `status` carries.
    pub(crate) fn of(status: &Status) -> Option<Self> {
        std::error::Error::source(status)?.downcast_ref::<Self>().copied()
    }
}

impl From<Status> for Error {
    fn from(status: Status) -> Self {
        let message = status.message().to_owned();
        match Cause::of(&status) {
            None | Some(Cause::Protocol) => Self::Protocol(message),
            Some(Cause::Transport { unsent }) => Self::Transport { unsent, message },
            Some(Cause::Http(404 | 405 | 415 | 501)) => Self::Unsupported(message),
            Some(Cause::Http(code)) => by_code(status.code(), Some(code), message),
            Some(Cause::Answer) => by_code(status.code(), None, message),
        }
    }
}

fn by_code(code: Code, status: Option<u16>, message: String) -> Error {
    match code {
        Code::Unauthenticated => Error::Unauthorized(message),
        Code::PermissionDenied => Error::Denied(message),
        Code::Unavailable => Error::Unavailable { status, message },
        Code::NotFound => Error::NotFound(message),
        Code::Unimplemented => Error::Unsupported(message),
        Code::InvalidArgument | Code::FailedPrecondition | Code::OutOfRange => Error::Invalid(message),
        _ => Error::Remote { code: super::connect::code_name(code), message },
    }
}

impl Error {
    /// The same error with `clean` applied to every text that a peer may have written.
    pub(crate) fn map_message(self, clean: impl Fn(String) -> String) -> Self {
        match self {
            Self::Unauthorized(message) => Self::Unauthorized(clean(message)),
            Self::Denied(message) => Self::Denied(clean(message)),
            Self::Unavailable { status, message } => Self::Unavailable { status, message: clean(message) },
            Self::NotFound(message) => Self::NotFound(clean(message)),
            Self::Unsupported(message) => Self::Unsupported(clean(message)),
            Self::Invalid(message) => Self::Invalid(clean(message)),
            Self::Storage(message) => Self::Storage(clean(message)),
            Self::Protocol(message) => Self::Protocol(clean(message)),
            Self::Transport { unsent, message } => Self::Transport { unsent, message: clean(message) },
            Self::Remote { code, message } => Self::Remote { code, message: clean(message) },
            other @ (Self::Gone(_) | Self::Timeout(..) | Self::Setup(_)) => other,
        }
    }

    /// Whether trying again later may help without the request having been carried out for certain or not.
    pub fn is_lost_link(&self) -> bool {
        matches!(self, Self::Unavailable { .. } | Self::Transport { .. } | Self::Timeout(..) | Self::Protocol(_))
    }
}
