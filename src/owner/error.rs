//! Why an owner could not do something, and the JavaScript error that it becomes.

use std::time::Duration;

use crate::envd;

/// What a failure is as a JavaScript error. `None` is an absent property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerErrorFacts {
    /// `code`.
    pub code: &'static str,
    /// `message`.
    pub message: String,
    /// `status`: the HTTP status.
    pub status: Option<u16>,
    /// `errorCode`: the control plane's own `error_code`.
    pub error_code: Option<String>,
    /// `retryAfterMs`: how long the server asks to wait.
    pub retry_after: Option<Duration>,
}

/// A failure. No message holds the API key or a token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OwnerError {
    /// The key is missing, unknown or revoked (401). `ERR_E2B_UNAUTHORIZED`.
    #[error("the control plane refused the API key: {0}")]
    Unauthorized(String),
    /// The account or the template may not be used (403). `ERR_E2B_FORBIDDEN`.
    #[error("the control plane forbids this: {0}")]
    Forbidden(String),
    /// The template or the sandbox does not exist, in the control plane's own words (404). `ERR_E2B_NOT_FOUND`.
    #[error("not found: {0}")]
    NotFound(String),
    /// Too many requests, or too many sandboxes (429). `ERR_E2B_RATE_LIMITED`.
    #[error("the control plane limits this account: {message}")]
    RateLimited {
        /// The server's words.
        message: String,
        /// How long it asks to wait; a quota of sandboxes has no such time.
        retry_after: Option<Duration>,
    },
    /// There was no place for the sandbox. `ERR_E2B_PLACEMENT`, with `errorCode`.
    #[error("the sandbox could not be placed ({error_code}): {message}")]
    Placement {
        /// The HTTP status.
        status: u16,
        /// Which of the placement failures.
        error_code: String,
        /// The server's words.
        message: String,
    },
    /// The control plane failed (5xx). `ERR_E2B_SERVER`.
    #[error("the control plane failed (HTTP {status}): {message}")]
    Server {
        /// The HTTP status.
        status: u16,
        /// Its own code, if it gave one.
        error_code: Option<String>,
        /// The server's words.
        message: String,
    },
    /// The request was understood and refused (400, 409, …). `ERR_E2B_REFUSED`.
    #[error("the control plane refused this (HTTP {status}): {message}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// Its own code, if it gave one.
        error_code: Option<String>,
        /// The server's words.
        message: String,
    },
    /// No connection could be made; nothing was asked. `ERR_E2B_UNREACHABLE`.
    #[error("the control plane cannot be reached: {0}")]
    Unreachable(String),
    /// The request went out and its answer did not come: it may have been carried out. A sandbox that was created so ends by its
    /// timeout. `ERR_E2B_ANSWER_LOST`.
    #[error("the control plane's answer was lost: {0}")]
    AnswerLost(String),
    /// An answer that is none. `ERR_E2B_PROTOCOL`.
    #[error("the control plane's answer makes no sense: {0}")]
    Protocol(String),
    /// The template's daemon is too old for every client (below 0.1.0). `ERR_E2B_TEMPLATE`.
    #[error("the template's daemon has version {0}, which is too old: rebuild the template")]
    Template(String),
    /// The directories could not be made. `ERR_E2B_DIRECTORIES`.
    #[error("the directories in the sandbox could not be made: {0}")]
    Directories(String),
    /// What is at the private directory's path is a link or no directory. `ERR_E2B_RUNTIME_ROOT`.
    #[error("dsh-e2b: runtime root must be a real directory: {0}")]
    RuntimeRoot(String),
    /// The owner was disposed meanwhile. `ERR_E2B_DISPOSING`.
    #[error("E2B sandbox service is disposing")]
    Disposing,
    /// The settings make no client. `ERR_E2B_SETUP`.
    #[error("{0}")]
    Setup(String),
}

impl OwnerError {
    /// The JavaScript error.
    pub fn facts(&self) -> OwnerErrorFacts {
        let (code, status, error_code, retry_after) = match self {
            Self::Unauthorized(_) => ("ERR_E2B_UNAUTHORIZED", Some(401), None, None),
            Self::Forbidden(_) => ("ERR_E2B_FORBIDDEN", Some(403), None, None),
            Self::NotFound(_) => ("ERR_E2B_NOT_FOUND", Some(404), None, None),
            Self::RateLimited { retry_after, .. } => ("ERR_E2B_RATE_LIMITED", Some(429), None, *retry_after),
            Self::Placement { status, error_code, .. } => {
                ("ERR_E2B_PLACEMENT", Some(*status), Some(error_code.clone()), None)
            }
            Self::Server { status, error_code, .. } => ("ERR_E2B_SERVER", Some(*status), error_code.clone(), None),
            Self::Refused { status, error_code, .. } => ("ERR_E2B_REFUSED", Some(*status), error_code.clone(), None),
            Self::Unreachable(_) => ("ERR_E2B_UNREACHABLE", None, None, None),
            Self::AnswerLost(_) => ("ERR_E2B_ANSWER_LOST", None, None, None),
            Self::Protocol(_) => ("ERR_E2B_PROTOCOL", None, None, None),
            Self::Template(_) => ("ERR_E2B_TEMPLATE", None, None, None),
            Self::Directories(_) => ("ERR_E2B_DIRECTORIES", None, None, None),
            Self::RuntimeRoot(_) => ("ERR_E2B_RUNTIME_ROOT", None, None, None),
            Self::Disposing => ("ERR_E2B_DISPOSING", None, None, None),
            Self::Setup(_) => ("ERR_E2B_SETUP", None, None, None),
        };
        OwnerErrorFacts { code, message: self.to_string(), status, error_code, retry_after }
    }
}

/// A request to the control plane that got no answer.
impl From<envd::Error> for OwnerError {
    fn from(error: envd::Error) -> Self {
        match error {
            envd::Error::Transport { unsent: true, message } => Self::Unreachable(message),
            envd::Error::Transport { unsent: false, message } => Self::AnswerLost(message),
            envd::Error::Timeout(..) => Self::AnswerLost(error.to_string()),
            other => Self::Setup(other.to_string()),
        }
    }
}
