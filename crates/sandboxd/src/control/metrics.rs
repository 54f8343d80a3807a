//! `GET /sandboxes/{id}/metrics` and the old logs.

use axum::Json;
use axum::extract::{Path, RawQuery, State};
use serde_json::{Value, json};

use super::query::Query;
use super::{ApiError, Control};
use crate::sandboxes::metrics::Sample;

/// Samples between `start` and `end`, unix seconds.
///
/// # Errors
/// 400, 404.
pub async fn metrics(
    State(control): State<Control>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Json<Vec<Sample>>, ApiError> {
    let query = Query::new(query.as_deref());
    let (start, end) = (query.number("start")?, query.number("end")?);
    Ok(Json(control.find(&id)?.samples.between(start, end)))
}

/// `GET /sandboxes/{id}/logs`: there are none, the daemon's own log goes to standard error of the service.
///
/// # Errors
/// 404.
pub async fn logs(State(control): State<Control>, Path(id): Path<String>) -> Result<Json<Value>, ApiError> {
    control.find(&id)?;
    Ok(Json(json!({"logs": [], "logEntries": []})))
}
