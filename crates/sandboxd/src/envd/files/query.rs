//! The query parameters that both directions share.

use axum::{
    body::Body,
    http::{Response, StatusCode, Uri, header::CONTENT_TYPE},
};

/// The parameters as they came. An empty one differs from an absent one.
#[derive(Debug, Default)]
pub struct Query {
    /// Not resolved yet.
    pub path: Option<String>,
    /// Login name.
    pub username: Option<String>,
    /// In place of the access token.
    pub signature: Option<String>,
    /// Seconds since 1970.
    pub signature_expiration: Option<i64>,
}

impl Query {
    /// Reads the query of a request.
    ///
    /// # Errors
    /// The response for an expiration that isn't a number: 400 and plain text.
    pub fn of(uri: &Uri) -> Result<Self, Box<Response<Body>>> {
        let mut query = Self::default();
        for (name, value) in form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()) {
            let value = value.into_owned();
            match name.as_ref() {
                "path" => query.path = query.path.or(Some(value)),
                "username" => query.username = query.username.or(Some(value)),
                "signature" => query.signature = query.signature.or(Some(value)),
                "signature_expiration" => match value.parse() {
                    Ok(seconds) => query.signature_expiration = query.signature_expiration.or(Some(seconds)),
                    Err(error) => return Err(Box::new(malformed(&value, &error))),
                },
                _ => {}
            }
        }
        Ok(query)
    }
}

fn malformed(value: &str, error: &std::num::ParseIntError) -> Response<Body> {
    let text = format!("Invalid format for parameter signature_expiration: error parsing {value:?}: {error}\n");
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = StatusCode::BAD_REQUEST;
    response.headers_mut().insert(CONTENT_TYPE, axum::http::HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_empty_and_encoded_parameters_differ() {
        let query = Query::of(&Uri::from_static("/files?path=%2Fa+b%2Bc&username=&other=1")).expect("query");
        assert_eq!(query.path.as_deref(), Some("/a b+c"));
        assert_eq!(query.username.as_deref(), Some(""));
        assert_eq!(query.signature, None);
        assert!(Query::of(&Uri::from_static("/files?signature_expiration=soon")).is_err());
    }
}
