//! Request bodies.

use axum::body::Bytes;
use serde::de::DeserializeOwned;

use super::ApiError;

/// The largest request body, as in the original service.
pub const LIMIT: usize = 16 << 20;

/// Reads a JSON body whatever its content type; an empty one counts as `{}`.
///
/// # Errors
/// 400 with the place of the mistake.
pub fn read<T: DeserializeOwned>(body: &Bytes) -> Result<T, ApiError> {
    let text: &[u8] = if body.iter().all(u8::is_ascii_whitespace) { b"{}" } else { body };
    serde_json::from_slice(text).map_err(|error| ApiError::bad(format!("invalid request body: {error}")))
}
