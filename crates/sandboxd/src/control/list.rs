//! `GET /v2/sandboxes` and its older form.

use std::sync::Arc;

use axum::Json;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use super::query::Query;
use super::{ApiError, Control, wire};
use crate::sandboxes::{Phase, Sandbox};

/// The largest page, and that of clients that give no limit.
const PAGE: usize = 100;

/// The header that names the next page; absent on the last.
const NEXT: &str = "x-next-token";

/// One page of the sandboxes that match, newest first unless `order=asc`.
///
/// # Errors
/// 400 for a query that makes no sense.
pub async fn pages(State(control): State<Control>, RawQuery(query): RawQuery) -> Result<Response, ApiError> {
    let query = Query::new(query.as_deref());
    let limit = query.number("limit")?.unwrap_or(PAGE);
    if !(1..=PAGE).contains(&limit) {
        return Err(ApiError::bad(format!("limit must be between 1 and {PAGE}")));
    }
    let ascending = match query.one("order") {
        None | Some("desc") => false,
        Some("asc") => true,
        Some(other) => return Err(ApiError::bad(format!("invalid order \"{other}\""))),
    };
    // The number of the last sandbox of the page before: stable while others come and go.
    let after: Option<u64> = query.number("nextToken")?;
    let mut found = matching(&control, &query)?;
    if !ascending {
        found.reverse();
    }
    found.retain(|sandbox| after.is_none_or(|after| (sandbox.number > after) == ascending && sandbox.number != after));
    let more = found.len() > limit;
    found.truncate(limit);
    let next = found.last().filter(|_| more).map(|sandbox| sandbox.number.to_string());
    let items: Vec<Value> = found.iter().map(|sandbox| wire::item(sandbox)).collect();
    let header = next.map(|next| [(NEXT, next)]);
    Ok(match header {
        Some(header) => (header, Json(items)).into_response(),
        None => Json(items).into_response(),
    })
}

/// `GET /sandboxes`: all running ones at once, oldest first.
///
/// # Errors
/// 400 for a query that makes no sense.
pub async fn running(State(control): State<Control>, RawQuery(query): RawQuery) -> Result<Json<Vec<Value>>, ApiError> {
    let mut found = matching(&control, &Query::new(query.as_deref()))?;
    found.retain(|sandbox| sandbox.phase() == Phase::Running);
    Ok(Json(found.iter().map(|sandbox| wire::item(sandbox)).collect()))
}

/// The sandboxes that pass every filter of the query, oldest first.
fn matching(control: &Control, query: &Query) -> Result<Vec<Arc<Sandbox>>, ApiError> {
    let mut phases = Vec::new();
    for state in query.all("state") {
        phases.push(match state {
            "running" => Phase::Running,
            "paused" => Phase::Paused,
            other => return Err(ApiError::bad(format!("invalid state \"{other}\""))),
        });
    }
    let metadata = query.pairs("metadata");
    let started_after = query.instant("startedAfter")?;
    let template = query.one("template");
    let mut all = control.sandboxes.all();
    all.retain(|sandbox| {
        let phase = sandbox.phase();
        phase != Phase::Ended
            && (phases.is_empty() || phases.contains(&phase))
            && metadata.iter().all(|(key, value)| sandbox.spec.metadata.get(key) == Some(value))
            && started_after.is_none_or(|after| sandbox.started_at >= after)
            && template.is_none_or(|template| sandbox.spec.template == template)
    });
    Ok(all)
}
