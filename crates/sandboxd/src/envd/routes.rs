//! All routes and the layers before them.

use std::sync::Arc;

use axum::{
    Router,
    http::{StatusCode, header::CONTENT_TYPE},
    middleware,
    response::IntoResponse,
    routing::{get, post},
};
use tower_http::cors::{Any, CorsLayer};

use super::{authentication, envs, files, filesystem, health, init, metrics, process, sandbox::Sandbox, unread};

/// The daemon's routes for one sandbox.
pub fn router(sandbox: Arc<Sandbox>) -> Router {
    Router::new()
        .route("/health", get(health::health))
        .route("/init", post(init::init))
        .route("/envs", get(envs::envs))
        .route("/metrics", get(metrics::metrics))
        .merge(files::routes())
        .merge(process::routes())
        .merge(filesystem::routes())
        .fallback(unknown_path)
        .layer(middleware::from_fn(authentication::name_user))
        .layer(middleware::from_fn_with_state(sandbox.clone(), authentication::require_token))
        .layer(middleware::from_fn(unread::read_on))
        .layer(CorsLayer::new().allow_origin(Any).allow_methods(Any).allow_headers(Any).expose_headers(Any))
        .with_state(sandbox)
}

async fn unknown_path() -> impl IntoResponse {
    (StatusCode::NOT_FOUND, [(CONTENT_TYPE, "text/plain; charset=utf-8")], "404 page not found\n")
}
