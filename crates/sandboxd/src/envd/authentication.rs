//! Who may call, and for which account: the access token, and the user name of Basic
//! authentication.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, Method, Response, StatusCode, header::AUTHORIZATION},
    middleware::Next,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use sha2::{Digest as _, Sha256};

use super::{account::Account, connect, json_error::json_error, sandbox::Sandbox};

/// The header that carries the access token.
pub const TOKEN_HEADER: &str = "x-access-token";

/// The account that a request names; left in its extensions for the handlers.
#[derive(Clone, Debug)]
pub struct NamedUser(pub Account);

/// Refuses requests without the sandbox's token, save those that have rules of their own.
pub async fn require_token(State(sandbox): State<Arc<Sandbox>>, request: Request, next: Next) -> Response<Body> {
    if let Some(token) = sandbox.token() {
        let sent = header_text(request.headers(), TOKEN_HEADER);
        if !has_own_rules(request.method(), request.uri().path()) && !equal(sent, &token) {
            let message = "unauthorized access, please provide a valid access token or method signing if supported";
            return json_error(StatusCode::UNAUTHORIZED, message);
        }
    }
    next.run(request).await
}

/// Looks up the user that Basic authentication names. The password is not looked at.
pub async fn name_user(mut request: Request, next: Next) -> Response<Body> {
    if let Some(name) = basic_user(request.headers()) {
        match Account::by_name(&name) {
            Ok(account) => {
                request.extensions_mut().insert(NamedUser(account));
            }
            Err(_) => {
                let error = connect::Error::unauthenticated(format!("invalid username: '{name}'"));
                return match connect::Codec::of_stream(request.headers()) {
                    Some(codec) => error.into_stream(codec),
                    None => error.into_unary(),
                };
            }
        }
    }
    next.run(request).await
}

/// Whether two secrets are the same, without telling by the time it takes where they differ.
pub fn equal(sent: &str, secret: &str) -> bool {
    Sha256::digest(sent) == Sha256::digest(secret)
}

/// A header as text; empty when it's missing or not text.
pub fn header_text<'headers>(headers: &'headers HeaderMap, name: &str) -> &'headers str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

fn has_own_rules(method: &Method, path: &str) -> bool {
    matches!((method.as_str(), path), ("GET", "/health" | "/files") | ("POST", "/files" | "/init"))
}

fn basic_user(headers: &HeaderMap) -> Option<String> {
    let (scheme, encoded) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = String::from_utf8(STANDARD.decode(encoded).ok()?).ok()?;
    decoded.split_once(':').map(|(user, _)| user.to_owned())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn only_well_formed_basic_authentication_names_a_user() {
        let user = |value: &str| {
            basic_user(&HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::from_str(value).expect("header"))]))
        };
        assert_eq!(user("Basic dXNlcjo=").as_deref(), Some("user"));
        assert_eq!(user("basic cm9vdDpzZWNyZXQ=").as_deref(), Some("root"));
        assert_eq!(user("Basic dXNlcg=="), None);
        assert_eq!(user("Bearer dXNlcjo="), None);
    }

    #[test]
    fn files_health_and_init_have_their_own_rules_and_nothing_else() {
        assert!(has_own_rules(&Method::GET, "/files"));
        assert!(has_own_rules(&Method::POST, "/init"));
        for (method, path) in [(Method::POST, "/files/compose"), (Method::GET, "/envs"), (Method::POST, "/health")] {
            assert!(!has_own_rules(&method, path), "{method} {path}");
        }
    }
}
