//! A failed call and its two representations: a unary response and the last frame of a stream.

use axum::{
    body::Body,
    http::{Response, StatusCode, header::CONTENT_TYPE},
};
use serde_json::json;

use super::{Code, Codec, envelope};

/// A failed call. The message is for people; clients decide by the code.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}: {message}", code.name())]
pub struct Error {
    /// What clients decide by.
    pub code: Code,
    /// What people read; never holds inputs, environment values or tokens.
    pub message: String,
}

impl Error {
    /// An error of any code.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// The request can never succeed as it is.
    pub fn invalid_argument(message: impl Into<String>) -> Self {
        Self::new(Code::InvalidArgument, message)
    }

    /// What the request names isn't there.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(Code::NotFound, message)
    }

    /// The daemon, or the machine under it, failed.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(Code::Internal, message)
    }

    /// The request asks for something that doesn't exist in this service.
    pub fn unimplemented(message: impl Into<String>) -> Self {
        Self::new(Code::Unimplemented, message)
    }

    /// The user is not known.
    pub fn unauthenticated(message: impl Into<String>) -> Self {
        Self::new(Code::Unauthenticated, message)
    }

    /// The JSON object that both representations share.
    pub fn to_json(&self) -> serde_json::Value {
        json!({ "code": self.code.name(), "message": self.message })
    }

    /// The response of a unary call. Always JSON, whatever the call's codec.
    pub fn into_unary(self) -> Response<Body> {
        response(self.code.status(), "application/json", Body::from(self.to_json().to_string()))
    }

    /// The response of a streaming call that failed before its first message: status 200 and one
    /// closing frame.
    pub fn into_stream(self, codec: Codec) -> Response<Body> {
        let frame = envelope::end_frame(Some(&self));
        response(StatusCode::OK, codec.stream_content_type(), Body::from(frame))
    }
}

/// A response with nothing but a status, a type and a body.
pub(super) fn response(status: StatusCode, content_type: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, axum::http::HeaderValue::from_static(content_type));
    response
}
