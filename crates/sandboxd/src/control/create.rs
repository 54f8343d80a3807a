//! `POST /sandboxes`.

use std::collections::BTreeMap;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use http::StatusCode;
use serde::Deserialize;
use serde_json::Value;

use super::{ApiError, Control, body, wire};
use crate::sandboxes::Spec;

/// The timeout of clients that give none, in seconds.
const TIMEOUT: i64 = 15;

/// The request. Unknown keys are fine: newer SDKs send more.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct NewSandbox {
    #[serde(rename = "templateID", default)]
    template: String,
    timeout: Option<i64>,
    metadata: Option<BTreeMap<String, String>>,
    env_vars: Option<BTreeMap<String, String>>,
    secure: Option<bool>,
    #[serde(rename = "allow_internet_access")]
    internet: Option<bool>,
    auto_pause: Option<bool>,
    auto_resume: Option<AutoResume>,
    network: Option<Value>,
    volume_mounts: Option<Vec<Value>>,
}

#[derive(Debug, Deserialize)]
struct AutoResume {
    #[serde(default)]
    enabled: bool,
}

/// Starts a sandbox and answers 201 when it is reachable.
///
/// # Errors
/// 400 for a request that makes no sense, 501 for volumes, 500 when the box cannot be built.
pub async fn create(State(control): State<Control>, bytes: Bytes) -> Result<(StatusCode, Json<Value>), ApiError> {
    let request: NewSandbox = body::read(&bytes)?;
    if request.template.is_empty() {
        return Err(ApiError::bad("validation error: templateID is required"));
    }
    if request.volume_mounts.is_some_and(|mounts| !mounts.is_empty()) {
        return Err(ApiError::new(StatusCode::NOT_IMPLEMENTED, "volumes are not supported by this service"));
    }
    let timeout = request.timeout.unwrap_or(TIMEOUT);
    let timeout = u64::try_from(timeout).ok().filter(|timeout| *timeout > 0);
    let timeout = timeout.ok_or_else(|| ApiError::bad("timeout must be greater than 0"))?;
    let spec = Spec {
        template: request.template,
        timeout: control.timeout(timeout)?,
        metadata: request.metadata.unwrap_or_default(),
        env: request.env_vars.unwrap_or_default(),
        secure: request.secure.unwrap_or(false),
        auto_pause: request.auto_pause.unwrap_or(false),
        auto_resume: request.auto_resume.is_some_and(|resume| resume.enabled),
        internet: request.internet,
        network: request.network,
    };
    let sandbox = control.sandboxes.create(spec).await?;
    Ok((StatusCode::CREATED, Json(wire::connection(&control, &sandbox))))
}
