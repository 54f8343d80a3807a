//! A failed file request.

use std::{fmt::Display, io};

use axum::{
    body::Body,
    http::{Response, StatusCode},
};

use crate::envd::json_error::json_error;

/// A status and a sentence.
#[derive(Debug)]
pub struct Failure {
    /// The response's status.
    pub status: StatusCode,
    /// For people.
    pub message: String,
}

impl Failure {
    /// Any status.
    pub fn new(status: StatusCode, message: impl Display) -> Self {
        Self { status, message: message.to_string() }
    }

    /// 400.
    pub fn bad_request(message: impl Display) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// 500.
    pub fn internal(message: impl Display) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, message)
    }

    /// 507 when the file system is full, else 500.
    pub fn of_write(error: &io::Error, full: &str, other: &str) -> Self {
        match error.raw_os_error() {
            Some(libc::ENOSPC | libc::EDQUOT) => Self::new(StatusCode::INSUFFICIENT_STORAGE, full),
            _ => Self::internal(format!("{other}: {error}")),
        }
    }

    /// The response.
    pub fn into_response(self) -> Response<Body> {
        json_error(self.status, self.message)
    }
}
