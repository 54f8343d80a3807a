//! Keys.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::StatusCode;

use super::{ApiError, Control};

/// Lets only requests with an accepted key pass.
///
/// # Errors
/// 401 without one.
pub async fn check(State(control): State<Control>, request: Request, next: Next) -> Result<Response, ApiError> {
    let key = request.headers().get("x-api-key").and_then(|value| value.to_str().ok());
    let unauthorized = |words: &str| ApiError::new(StatusCode::UNAUTHORIZED, words);
    let key = key.ok_or_else(|| unauthorized("no API key: header X-API-Key is missing"))?;
    if !well_formed(key) {
        return Err(unauthorized("invalid API key format: expected e2b_ and lower-case hexadecimal digits"));
    }
    if !control.keys.is_empty() && !control.keys.iter().any(|known| known == key) {
        return Err(unauthorized("unknown API key"));
    }
    Ok(next.run(request).await)
}

/// The format that the SDKs insist on.
pub fn well_formed(key: &str) -> bool {
    key.strip_prefix("e2b_")
        .is_some_and(|hex| !hex.is_empty() && hex.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)))
}

#[cfg(test)]
mod tests {
    use super::well_formed;

    #[test]
    fn a_key_is_e2b_and_lower_case_hexadecimal_digits() {
        assert!(well_formed("e2b_00ff"));
        for bad in ["", "e2b_", "e2b_00FF", "e2b-00", "00ff", "e2b_xyz"] {
            assert!(!well_formed(bad), "{bad}");
        }
    }
}
