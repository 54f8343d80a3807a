//! The routes.

use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn_with_state, map_response};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use http::{Method, StatusCode, Uri, header};
use serde_json::{Value, json};

use super::{ApiError, Control, auth, body, count, create, life, list, metrics};
use crate::hook;

/// Everything on the control port.
pub fn router(control: Control) -> Router {
    Router::new()
        .route("/sandboxes", get(list::running).post(create::create))
        .route("/v2/sandboxes", get(list::pages))
        .route("/sandboxes/{id}", get(life::get).delete(life::kill))
        .route("/sandboxes/{id}/timeout", post(life::timeout))
        .route("/sandboxes/{id}/refreshes", post(life::refresh))
        .route("/sandboxes/{id}/connect", post(life::connect))
        .route("/sandboxes/{id}/resume", post(life::resume))
        .route("/sandboxes/{id}/pause", post(life::pause))
        .route("/sandboxes/{id}/metrics", get(metrics::metrics))
        .route("/sandboxes/{id}/logs", get(metrics::logs))
        .route("/sandboxes/{id}/snapshots", post(unsupported))
        .route("/sandboxes/{id}/fork", post(unsupported))
        .route("/sandboxes/{id}/network", post(unsupported).put(unsupported))
        .merge(hook::routes::router())
        .fallback(unknown)
        .layer(from_fn_with_state(control.clone(), auth::check))
        // Outside of the check, so that everybody may ask whether the service lives.
        .route("/health", get(health))
        .layer(from_fn_with_state(control.clone(), count::count))
        .layer(map_response(words))
        .layer(DefaultBodyLimit::max(body::LIMIT))
        .with_state(control)
}

async fn health() -> Json<Value> {
    Json(json!({"status": "ok"}))
}

async fn unknown(method: Method, uri: Uri) -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, format!("no route {method} {}", uri.path()))
}

async fn unsupported(method: Method, uri: Uri) -> ApiError {
    ApiError::new(StatusCode::NOT_IMPLEMENTED, format!("{method} {} is not supported by this service", uri.path()))
}

/// Gives errors of the framework itself (405, 413) the body that all errors have.
async fn words(response: Response) -> Response {
    let status = response.status();
    let is_json = response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == "application/json");
    if is_json || !(status.is_client_error() || status.is_server_error()) {
        return response;
    }
    ApiError::new(status, status.canonical_reason().unwrap_or("error")).into_response()
}
