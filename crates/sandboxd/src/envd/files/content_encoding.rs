//! Which encodings a request's body has and a response's may have.

use axum::http::{HeaderMap, header};

use crate::envd::authentication::header_text;

/// How bytes travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// As they are.
    Identity,
    /// Compressed.
    Gzip,
}

/// The encoding of a request's body.
///
/// # Errors
/// A sentence for any but gzip and identity.
pub fn of_body(headers: &HeaderMap) -> Result<Encoding, String> {
    let sent = header_text(headers, header::CONTENT_ENCODING.as_str());
    match parse(sent).0.as_str() {
        "" | "identity" => Ok(Encoding::Identity),
        "gzip" => Ok(Encoding::Gzip),
        _ => Err(format!("unsupported Content-Encoding: {sent}, supported: [gzip]")),
    }
}

/// The encoding for a response: the best that the client takes.
///
/// # Errors
/// A sentence when it takes none.
pub fn for_response(headers: &HeaderMap) -> Result<Encoding, String> {
    let sent = header_text(headers, header::ACCEPT_ENCODING.as_str());
    if sent.is_empty() {
        return Ok(Encoding::Identity);
    }
    let mut accepted: Vec<(String, f64)> = sent.split(',').map(parse).collect();
    accepted.sort_by(|left, right| right.1.total_cmp(&left.1));
    let identity_refused = refuses_identity(&accepted);
    for (name, quality) in &accepted {
        match name.as_str() {
            _ if *quality == 0.0 => {}
            "identity" => return Ok(Encoding::Identity),
            "gzip" => return Ok(Encoding::Gzip),
            "*" if identity_refused => return Ok(Encoding::Gzip),
            "*" => return Ok(Encoding::Identity),
            _ => {}
        }
    }
    if identity_refused {
        Err("no acceptable encoding found, supported: [gzip]".into())
    } else {
        Ok(Encoding::Identity)
    }
}

/// Whether the client takes a response without encoding, as parts of files are.
pub fn takes_identity(headers: &HeaderMap) -> bool {
    let sent = header_text(headers, header::ACCEPT_ENCODING.as_str());
    !refuses_identity(&sent.split(',').map(parse).collect::<Vec<_>>())
}

fn refuses_identity(accepted: &[(String, f64)]) -> bool {
    let quality = |wanted: &str| accepted.iter().find(|(name, _)| name == wanted).map(|(_, quality)| *quality);
    match (quality("identity"), quality("*")) {
        (Some(quality), _) => quality == 0.0,
        (None, Some(any)) => any == 0.0,
        (None, None) => false,
    }
}

/// Name in lower case and quality; an unreadable quality counts as 1.
fn parse(value: &str) -> (String, f64) {
    let mut parts = value.split(';').map(str::trim);
    let name = parts.next().unwrap_or_default().to_ascii_lowercase();
    let quality = parts.filter_map(|part| part.to_ascii_lowercase().strip_prefix("q=")?.parse().ok()).next_back();
    (name, quality.unwrap_or(1.0))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn accept(value: &str) -> HeaderMap {
        HeaderMap::from_iter([(header::ACCEPT_ENCODING, HeaderValue::from_str(value).expect("header"))])
    }

    #[test]
    fn gzip_is_used_when_it_is_taken() {
        let table = [
            ("gzip, deflate", Ok(Encoding::Gzip)),
            ("zstd,gzip,br", Ok(Encoding::Gzip)),
            ("br", Ok(Encoding::Identity)),
            ("gzip;q=0.5, identity", Ok(Encoding::Identity)),
            ("gzip;q=0", Ok(Encoding::Identity)),
            ("*", Ok(Encoding::Identity)),
            ("identity;q=0, *", Ok(Encoding::Gzip)),
            ("identity;q=0", Err(())),
            ("*;q=0, br", Err(())),
        ];
        for (value, expected) in table {
            assert_eq!(for_response(&accept(value)).map_err(drop), expected, "{value}");
        }
        assert_eq!(for_response(&HeaderMap::new()), Ok(Encoding::Identity));
    }

    #[test]
    fn identity_is_taken_unless_it_is_refused() {
        assert!(takes_identity(&accept("gzip")));
        assert!(takes_identity(&accept("*;q=0, identity")));
        assert!(!takes_identity(&accept("*;q=0")));
        assert!(!takes_identity(&accept("gzip, identity;q=0")));
    }

    #[test]
    fn other_encodings_of_a_body_are_refused() {
        let body = |value: &str| {
            of_body(&HeaderMap::from_iter([(header::CONTENT_ENCODING, HeaderValue::from_str(value).expect("header"))]))
        };
        assert_eq!(body("GZIP"), Ok(Encoding::Gzip));
        assert_eq!(body("identity"), Ok(Encoding::Identity));
        assert!(body("zstd").is_err());
        assert!(body("gzip, gzip").is_err());
    }
}
