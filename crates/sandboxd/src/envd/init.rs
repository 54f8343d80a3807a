//! `POST /init`: the control plane's settings for the sandbox.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    body::{self, Body},
    extract::{Request, State},
    http::{HeaderValue, Response, StatusCode, header::CACHE_CONTROL},
};
use serde::Deserialize;

use super::{
    VERSION,
    authentication::equal,
    sandbox::{Sandbox, Settings},
};

/// What of the request is of use here. Mounts, certificates and the clock are the real machine's.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct InitRequest {
    env_vars: Option<BTreeMap<String, String>>,
    access_token: Option<String>,
    timestamp: Option<chrono::DateTime<chrono::FixedOffset>>,
    default_user: Option<String>,
    default_workdir: Option<String>,
}

/// Applies settings: 204, 400 for a body that isn't understood or an empty token, 401 when there is
/// a token already and the request doesn't have the same. A request without token opens the sandbox,
/// if none was set. Every answer names the daemon's version.
pub async fn init(State(sandbox): State<Arc<Sandbox>>, request: Request) -> Response<Body> {
    let mut response = match body::to_bytes(request.into_body(), usize::MAX).await {
        Ok(bytes) => answer(&sandbox, &bytes),
        Err(_) => plain(StatusCode::BAD_REQUEST, ""),
    };
    response.headers_mut().insert("x-envd-version", HeaderValue::from_static(VERSION));
    response
}

fn answer(sandbox: &Sandbox, bytes: &[u8]) -> Response<Body> {
    let request = if bytes.is_empty() {
        InitRequest::default()
    } else {
        match serde_json::from_slice(bytes) {
            Ok(request) => request,
            Err(_) => return plain(StatusCode::BAD_REQUEST, ""),
        }
    };
    if request.access_token.as_deref() == Some("") {
        return plain(StatusCode::BAD_REQUEST, "");
    }
    match (sandbox.token(), &request.access_token) {
        (None, _) => {}
        (Some(token), Some(sent)) if equal(sent, &token) => {}
        (Some(_), Some(_)) => return plain(StatusCode::UNAUTHORIZED, "access token validation failed"),
        (Some(_), None) => return plain(StatusCode::UNAUTHORIZED, "access token reset not authorized"),
    }
    sandbox.apply(Settings {
        variables: request.env_vars,
        token: request.access_token,
        user: request.default_user,
        directory: request.default_workdir,
        // Out of range is a year after 2262, which orders as the newest.
        timestamp: request.timestamp.map(|time| time.timestamp_nanos_opt().unwrap_or(i64::MAX)),
    });
    let mut response = plain(StatusCode::NO_CONTENT, "");
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn plain(status: StatusCode, message: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::from(message));
    *response.status_mut() = status;
    response
}
