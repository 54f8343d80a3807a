//! Routes that look at or change one sandbox.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use http::StatusCode;
use serde::Deserialize;
use serde_json::Value;

use super::{ApiError, Control, body, wire};
use crate::sandboxes::Phase;

/// Seconds for clients of `connect` and `resume` that give none.
const TIMEOUT: u64 = 15;

#[derive(Debug, Deserialize)]
struct Timeout {
    timeout: Option<i64>,
}

#[derive(Debug, Deserialize)]
struct Refresh {
    duration: Option<u64>,
}

/// `GET /sandboxes/{id}`.
///
/// # Errors
/// 404.
pub async fn get(State(control): State<Control>, Path(id): Path<String>) -> Result<Json<Value>, ApiError> {
    let sandbox = control.find(&id)?;
    Ok(Json(wire::detail(&control, &sandbox)))
}

/// `DELETE /sandboxes/{id}`: answers when every process is gone.
///
/// # Errors
/// 404, also the second time.
pub async fn kill(State(control): State<Control>, Path(id): Path<String>) -> Result<StatusCode, ApiError> {
    let sandbox = control.find(&id)?;
    control.sandboxes.kill(&sandbox.id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `POST /sandboxes/{id}/timeout`: sets the deadline, sooner or later; 0 or less is now.
///
/// # Errors
/// 400 without a timeout, 404, 409 when paused.
pub async fn timeout(
    State(control): State<Control>,
    Path(id): Path<String>,
    bytes: Bytes,
) -> Result<StatusCode, ApiError> {
    let request: Timeout = body::read(&bytes)?;
    let timeout = request.timeout.ok_or_else(|| ApiError::bad("validation error: timeout is required"))?;
    let sandbox = control.find(&id)?;
    if sandbox.phase() == Phase::Paused {
        return Err(ApiError::new(StatusCode::CONFLICT, format!("sandbox \"{id}\" is paused")));
    }
    // Longer than allowed is silently the longest.
    sandbox.set_deadline(u64::try_from(timeout).unwrap_or(0).min(control.longest));
    Ok(StatusCode::NO_CONTENT)
}

/// `POST /sandboxes/{id}/refreshes`: the old way to prolong.
///
/// # Errors
/// 404.
pub async fn refresh(
    State(control): State<Control>,
    Path(id): Path<String>,
    bytes: Bytes,
) -> Result<StatusCode, ApiError> {
    let request: Refresh = body::read(&bytes)?;
    let sandbox = control.find(&id)?;
    sandbox.extend_deadline(request.duration.unwrap_or(TIMEOUT).min(control.longest));
    Ok(StatusCode::NO_CONTENT)
}

/// `POST /sandboxes/{id}/connect`: 200 for a running sandbox, whose deadline is never brought forward; 201 for one that was
/// paused and runs again.
///
/// # Errors
/// 400 for a timeout that is too long, 404.
pub async fn connect(
    State(control): State<Control>,
    Path(id): Path<String>,
    bytes: Bytes,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    let request: Timeout = body::read(&bytes)?;
    let timeout = request.timeout.and_then(|timeout| u64::try_from(timeout).ok()).unwrap_or(TIMEOUT);
    let timeout = control.timeout(timeout)?;
    let sandbox = control.find(&id)?;
    let woken = control.sandboxes.resume(&sandbox.id, Some(timeout)).await?;
    if !woken {
        sandbox.extend_deadline(timeout);
    }
    let status = if woken { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(wire::connection(&control, &sandbox))))
}

/// `POST /sandboxes/{id}/resume`: the old way to wake.
///
/// # Errors
/// 404, 409 when it runs.
pub async fn resume(
    State(control): State<Control>,
    Path(id): Path<String>,
    bytes: Bytes,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    let request: Timeout = body::read(&bytes)?;
    let timeout = request.timeout.and_then(|timeout| u64::try_from(timeout).ok()).unwrap_or(TIMEOUT);
    let sandbox = control.find(&id)?;
    if !control.sandboxes.resume(&sandbox.id, Some(control.timeout(timeout)?)).await? {
        return Err(ApiError::new(StatusCode::CONFLICT, format!("sandbox \"{id}\" is already running")));
    }
    Ok((StatusCode::CREATED, Json(wire::connection(&control, &sandbox))))
}

/// `POST /sandboxes/{id}/pause`.
///
/// # Errors
/// 404, 409 the second time, 501 without isolation.
pub async fn pause(State(control): State<Control>, Path(id): Path<String>) -> Result<StatusCode, ApiError> {
    let sandbox = control.find(&id)?;
    control.sandboxes.pause(&sandbox.id).await?;
    Ok(StatusCode::NO_CONTENT)
}
