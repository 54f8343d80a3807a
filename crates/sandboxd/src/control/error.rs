//! Errors as the SDKs read them.

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde_json::json;

use crate::{boxes, sandboxes};

/// An error answer.
#[derive(Debug, thiserror::Error)]
#[error("{status}: {message}")]
pub struct ApiError {
    /// The status, in line and body.
    pub status: StatusCode,
    /// The words.
    pub message: String,
}

impl ApiError {
    /// An error with this status.
    pub fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    /// 400.
    pub fn bad(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let body = json!({"code": self.status.as_u16(), "message": self.message});
        (self.status, Json(body)).into_response()
    }
}

impl From<sandboxes::Error> for ApiError {
    fn from(error: sandboxes::Error) -> Self {
        let status = match &error {
            sandboxes::Error::NotFound(_) => StatusCode::NOT_FOUND,
            sandboxes::Error::Paused(_) => StatusCode::CONFLICT,
            sandboxes::Error::Box(boxes::Error::NoPause) => StatusCode::NOT_IMPLEMENTED,
            sandboxes::Error::Box(_) | sandboxes::Error::Daemon(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, error.to_string())
    }
}
