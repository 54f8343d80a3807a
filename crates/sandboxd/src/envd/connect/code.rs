//! The status codes of Connect.

use axum::http::StatusCode;

/// Why a call failed, as a client sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the protocol's own names, one to one")]
pub enum Code {
    Canceled,
    Unknown,
    InvalidArgument,
    DeadlineExceeded,
    NotFound,
    AlreadyExists,
    FailedPrecondition,
    Unimplemented,
    Internal,
    Unauthenticated,
}

impl Code {
    /// The name that goes over the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Canceled => "canceled",
            Self::Unknown => "unknown",
            Self::InvalidArgument => "invalid_argument",
            Self::DeadlineExceeded => "deadline_exceeded",
            Self::NotFound => "not_found",
            Self::AlreadyExists => "already_exists",
            Self::FailedPrecondition => "failed_precondition",
            Self::Unimplemented => "unimplemented",
            Self::Internal => "internal",
            Self::Unauthenticated => "unauthenticated",
        }
    }

    /// The HTTP status of a unary response that carries this code.
    pub fn status(self) -> StatusCode {
        match self {
            // 499 has no name in the registry; it is what the protocol asks for.
            Self::Canceled => StatusCode::from_u16(499).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            Self::InvalidArgument | Self::FailedPrecondition => StatusCode::BAD_REQUEST,
            Self::Unauthenticated => StatusCode::UNAUTHORIZED,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::AlreadyExists => StatusCode::CONFLICT,
            Self::Unimplemented => StatusCode::NOT_IMPLEMENTED,
            Self::DeadlineExceeded => StatusCode::GATEWAY_TIMEOUT,
            Self::Unknown | Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_has_the_http_status_of_the_protocol() {
        let table = [
            (Code::Canceled, 499),
            (Code::Unknown, 500),
            (Code::InvalidArgument, 400),
            (Code::DeadlineExceeded, 504),
            (Code::NotFound, 404),
            (Code::AlreadyExists, 409),
            (Code::FailedPrecondition, 400),
            (Code::Unimplemented, 501),
            (Code::Internal, 500),
            (Code::Unauthenticated, 401),
        ];
        for (code, status) in table {
            assert_eq!(code.status().as_u16(), status, "{}", code.name());
        }
    }
}
