//! Counting requests for the hook.

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;

use super::Control;

/// Counts a request under its route; the hook's own routes are not counted.
pub async fn count(State(control): State<Control>, request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().map_or("(unknown)", MatchedPath::as_str);
    if !route.starts_with("/_sandboxd") {
        control.counts.control(request.method().as_str(), route);
    }
    next.run(request).await
}
