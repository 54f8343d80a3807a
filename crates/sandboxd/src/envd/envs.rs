//! `GET /envs`.

use std::sync::Arc;

use axum::{
    extract::State,
    http::header::{CACHE_CONTROL, CONTENT_TYPE},
    response::IntoResponse,
};
use serde_json::json;

use super::sandbox::Sandbox;

/// The sandbox-wide variables as a JSON object.
pub async fn envs(State(sandbox): State<Arc<Sandbox>>) -> impl IntoResponse {
    let headers = [(CACHE_CONTROL, "no-store"), (CONTENT_TYPE, "application/json")];
    (headers, format!("{}\n", json!(sandbox.variables())))
}
