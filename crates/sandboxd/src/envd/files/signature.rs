//! Who may read or write a file: the bearer of the access token, or of a signature made with it.

use std::time::{SystemTime, UNIX_EPOCH};

use axum::http::HeaderMap;
use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD};
use sha2::{Digest as _, Sha256};

use super::query::Query;
use crate::envd::authentication::{TOKEN_HEADER, equal, header_text};

/// What a signature allows.
#[derive(Clone, Copy, Debug)]
pub enum Operation {
    /// Downloading.
    Read,
    /// Uploading.
    Write,
}

/// Checks a request, in this order: an open sandbox lets everyone in; a token decides alone, for
/// better or worse; then the signature, and last its age.
///
/// # Errors
/// The sentence for the 401.
pub fn authorize(
    token: Option<&str>,
    headers: &HeaderMap,
    query: &Query,
    operation: Operation,
) -> Result<(), &'static str> {
    let Some(token) = token else { return Ok(()) };
    let sent = header_text(headers, TOKEN_HEADER);
    if !sent.is_empty() {
        return if equal(sent, token) { Ok(()) } else { Err("access token present in header but does not match") };
    }
    let signature = query.signature.as_deref().ok_or("missing signature query parameter")?;
    if !equal(signature, &sign(token, query, operation)) {
        return Err("invalid signature");
    }
    match query.signature_expiration {
        Some(expiration) if expiration < now() => Err("signature is already expired"),
        Some(_) | None => Ok(()),
    }
}

/// The signature of a request: over the path as sent, not as resolved.
fn sign(token: &str, query: &Query, operation: Operation) -> String {
    let operation = match operation {
        Operation::Read => "read",
        Operation::Write => "write",
    };
    let path = query.path.as_deref().unwrap_or_default();
    let username = query.username.as_deref().unwrap_or_default();
    let mut text = format!("{path}:{operation}:{username}:{token}");
    if let Some(expiration) = query.signature_expiration {
        text.push_str(&format!(":{expiration}"));
    }
    format!("v1_{}", STANDARD_NO_PAD.encode(Sha256::digest(text)))
}

fn now() -> i64 {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    i64::try_from(seconds).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn signed(expiration: Option<i64>) -> Query {
        let mut query = Query { path: Some("a".into()), signature_expiration: expiration, ..Query::default() };
        query.signature = Some(sign("token", &query, Operation::Read));
        query
    }

    fn with_token(token: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(TOKEN_HEADER.parse().expect("name"), HeaderValue::from_static(token))])
    }

    #[test]
    fn the_token_is_looked_at_first_then_the_signature_then_its_age() {
        let none = HeaderMap::new();
        let check = |headers: &HeaderMap, query: &Query| authorize(Some("token"), headers, query, Operation::Read);
        assert_eq!(check(&with_token("token"), &Query::default()), Ok(()));
        assert_eq!(
            check(&with_token("wrong"), &signed(None)),
            Err("access token present in header but does not match")
        );
        assert_eq!(check(&none, &Query::default()), Err("missing signature query parameter"));
        let forged = Query { signature: Some("v1_x".into()), signature_expiration: Some(1), ..Query::default() };
        assert_eq!(check(&none, &forged), Err("invalid signature"));
        assert_eq!(check(&none, &signed(Some(1))), Err("signature is already expired"));
        assert_eq!(check(&none, &signed(Some(i64::MAX))), Ok(()));
        assert_eq!(check(&none, &signed(None)), Ok(()));
        assert_eq!(authorize(None, &none, &forged, Operation::Write), Ok(()));
    }

    #[test]
    fn a_signature_to_read_does_not_allow_to_write() {
        let query = signed(None);
        assert_eq!(authorize(Some("token"), &HeaderMap::new(), &query, Operation::Write), Err("invalid signature"));
    }

    #[test]
    fn the_signature_is_the_one_that_clients_compute() {
        // printf '%s' '/a b:read:user:secret:7' | openssl dgst -sha256 -binary | base64 | tr -d =
        let query = Query {
            path: Some("/a b".into()),
            username: Some("user".into()),
            signature_expiration: Some(7),
            ..Query::default()
        };
        assert_eq!(sign("secret", &query, Operation::Read), "v1_B+8Yil83Hoj6QRn5+/QZey7ZnkCMf40tf5yEveCwZgU");
    }
}
