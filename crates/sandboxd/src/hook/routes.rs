//! The administration of the hook, on the control port.

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::routing::{get, post};
use axum::{Json, Router};
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::counts::Tally;
use super::faults::{Faults, How};
use crate::control::{ApiError, Control, body};

/// The routes; see the table in [`super`].
pub fn router() -> Router<Control> {
    Router::new()
        .route("/_sandboxd/info", get(info))
        .route("/_sandboxd/requests", get(requests).delete(forget))
        .route("/_sandboxd/connections", get(connections))
        .route("/_sandboxd/faults", get(plan).put(set_plan).delete(drop_plan))
        .route("/_sandboxd/faults/{sandbox}", get(plan_of).put(set_plan_of).delete(drop_plan_of))
        .route("/_sandboxd/cut", post(cut))
        .route("/_sandboxd/cut/{sandbox}", post(cut_of))
}

async fn info(State(control): State<Control>) -> Json<Value> {
    Json(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "isolation": control.sandboxes.boxes().isolation(),
        "sandboxes": control.sandboxes.all().len(),
    }))
}

async fn requests(State(control): State<Control>) -> Json<Tally> {
    Json(control.counts.read())
}

async fn forget(State(control): State<Control>) -> StatusCode {
    control.counts.reset();
    StatusCode::NO_CONTENT
}

async fn connections(State(control): State<Control>) -> Json<Vec<Value>> {
    use std::sync::atomic::Ordering::Relaxed;
    let mut links = control.links.all();
    links.sort_by_key(|link| link.id);
    let facts = links.iter().map(|link| {
        json!({
            "id": link.id,
            "peer": link.peer.to_string(),
            "ageMs": u64::try_from(link.born.elapsed().as_millis()).unwrap_or(u64::MAX),
            "sandbox": link.sandbox().as_deref(),
            "up": link.up.load(Relaxed),
            "down": link.down.load(Relaxed),
            "open": link.open.load(Relaxed),
        })
    });
    Json(facts.collect())
}

async fn plan(State(control): State<Control>) -> Json<Faults> {
    Json((*control.links.plan(None)).clone())
}

async fn plan_of(State(control): State<Control>, Path(sandbox): Path<String>) -> Json<Faults> {
    Json((*control.links.plan(Some(&sandbox))).clone())
}

async fn set_plan(State(control): State<Control>, bytes: Bytes) -> Result<StatusCode, ApiError> {
    control.links.set_plan(None, Some(body::read(&bytes)?));
    Ok(StatusCode::NO_CONTENT)
}

async fn set_plan_of(
    State(control): State<Control>,
    Path(sandbox): Path<String>,
    bytes: Bytes,
) -> Result<StatusCode, ApiError> {
    control.links.set_plan(Some(&sandbox), Some(body::read(&bytes)?));
    Ok(StatusCode::NO_CONTENT)
}

async fn drop_plan(State(control): State<Control>) -> StatusCode {
    control.links.set_plan(None, None);
    StatusCode::NO_CONTENT
}

async fn drop_plan_of(State(control): State<Control>, Path(sandbox): Path<String>) -> StatusCode {
    control.links.set_plan(Some(&sandbox), None);
    StatusCode::NO_CONTENT
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct CutNow {
    how: How,
}

async fn cut(State(control): State<Control>, bytes: Bytes) -> Result<Json<Value>, ApiError> {
    let how = body::read::<CutNow>(&bytes)?.how;
    Ok(Json(json!({"cut": control.links.cut(None, how)})))
}

async fn cut_of(
    State(control): State<Control>,
    Path(sandbox): Path<String>,
    bytes: Bytes,
) -> Result<Json<Value>, ApiError> {
    let how = body::read::<CutNow>(&bytes)?.how;
    Ok(Json(json!({"cut": control.links.cut(Some(&sandbox), how)})))
}
