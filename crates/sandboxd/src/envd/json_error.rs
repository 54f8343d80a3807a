//! Errors of the plain HTTP calls.

use axum::{
    body::Body,
    http::{HeaderValue, Response, StatusCode, header::CONTENT_TYPE},
};
use serde_json::json;

/// A response `{"code":…,"message":…}`; the code repeats the status, which is what clients read.
pub fn json_error(status: StatusCode, message: impl Into<String>) -> Response<Body> {
    let message: String = message.into();
    let mut text = json!({ "code": status.as_u16(), "message": message }).to_string();
    text.push('\n');
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"));
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    response
}
