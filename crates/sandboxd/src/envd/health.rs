//! `GET /health`.

use axum::{
    http::{
        StatusCode,
        header::{CACHE_CONTROL, CONTENT_TYPE},
    },
    response::IntoResponse,
};

/// 204 as long as the daemon runs; needs no token.
pub async fn health() -> impl IntoResponse {
    (StatusCode::NO_CONTENT, [(CACHE_CONTROL, "no-store"), (CONTENT_TYPE, "")])
}
