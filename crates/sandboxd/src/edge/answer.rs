//! Answers of the edge itself.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};

/// Whatever may break a body off.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;
/// The body of every response at the edge.
pub type Body = UnsyncBoxBody<Bytes, BoxError>;

fn whole(status: StatusCode, kind: &'static str, text: String) -> Response<Body> {
    let mut response = Response::new(Full::new(Bytes::from(text)).map_err(|never| match never {}).boxed_unsync());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// A JSON answer.
pub fn json(status: StatusCode, value: &Value) -> Response<Body> {
    whole(status, "application/json", value.to_string())
}

/// A plain text answer.
pub fn text(status: StatusCode, words: &str) -> Response<Body> {
    whole(status, "text/plain; charset=utf-8", words.to_owned())
}

/// No such sandbox, or not a running one.
pub fn not_found(sandbox: &str) -> Response<Body> {
    json(StatusCode::BAD_GATEWAY, &json!({"sandboxId": sandbox, "message": "The sandbox was not found", "code": 502}))
}

/// The sandbox runs, but nobody listens on the port.
pub fn port_closed(sandbox: &str, port: u16) -> Response<Body> {
    json(
        StatusCode::BAD_GATEWAY,
        &json!({"sandboxId": sandbox, "message": "The sandbox is running but port is not open", "port": port, "code": 502}),
    )
}

/// A route of the daemon that is for the service only.
pub fn private(path: &str) -> Response<Body> {
    json(StatusCode::NOT_FOUND, &json!({"message": "not found", "path": path, "code": 404}))
}
