//! Files over plain HTTP: `/files` and `/files/compose`.
//!
//! All of it acts with the daemon's rights; the user of a request decides how its path is read and
//! whose the new files are. Bodies are streamed, whatever their length.

mod compose;
mod content_encoding;
mod content_type;
mod disposition;
mod download;
mod entry;
mod failure;
mod metadata_headers;
mod multipart;
mod query;
mod range;
mod signature;
mod store;
mod upload;

use std::sync::Arc;

use axum::{
    Router,
    routing::{get, post},
};

use super::sandbox::Sandbox;

/// The routes.
pub fn routes() -> Router<Arc<Sandbox>> {
    Router::new()
        .route("/files", get(download::download).post(upload::upload))
        .route("/files/compose", post(compose::compose))
}
