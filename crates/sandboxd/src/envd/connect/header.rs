//! Request headers of the protocol, and the daemon's own one for keepalives.

use std::time::Duration;

use axum::http::HeaderMap;

use super::{Code, Error};

/// Between two keepalive frames when the client names no interval.
const DEFAULT_KEEPALIVE: Duration = Duration::from_secs(90);

/// Checks the protocol version; a missing one is fine.
///
/// # Errors
/// `invalid_argument` for any version but 1.
pub fn check_version(headers: &HeaderMap) -> Result<(), Error> {
    match headers.get("connect-protocol-version") {
        None => Ok(()),
        Some(version) if version == "1" => Ok(()),
        Some(version) => Err(Error::invalid_argument(format!(
            "connect-protocol-version must be \"1\": got {:?}",
            version.to_str().unwrap_or_default()
        ))),
    }
}

/// Whether the header with this name says gzip.
///
/// # Errors
/// `unimplemented` for any encoding but gzip and identity.
pub fn is_gzip(headers: &HeaderMap, name: &str) -> Result<bool, Error> {
    match headers.get(name).map(|value| value.to_str().unwrap_or_default()) {
        None | Some("" | "identity") => Ok(false),
        Some("gzip") => Ok(true),
        Some(other) => {
            Err(Error::new(Code::Unimplemented, format!("unknown compression {other:?}: supported encodings are gzip")))
        }
    }
}

/// How long the call may take, from `Connect-Timeout-Ms`. `None` is unlimited; zero is a stream
/// that has expired already.
///
/// # Errors
/// `invalid_argument` unless the header is a number of at most ten digits.
pub fn timeout(headers: &HeaderMap) -> Result<Option<Duration>, Error> {
    let Some(value) = headers.get("connect-timeout-ms") else { return Ok(None) };
    let text = value.to_str().unwrap_or_default();
    if text.is_empty() {
        return Ok(None);
    }
    let digits = text.len() <= 10 && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(milliseconds) if digits => Ok(Some(Duration::from_millis(milliseconds))),
        _ => Err(Error::invalid_argument(format!("parse timeout: {text:?} is not a number of at most ten digits"))),
    }
}

/// Between two keepalive frames, from `Keepalive-Ping-Interval` in seconds. Anything that isn't a
/// positive number counts as absent: a client's mistake must not end the daemon.
pub fn keepalive_interval(headers: &HeaderMap) -> Duration {
    headers
        .get("keepalive-ping-interval")
        .and_then(|value| value.to_str().ok()?.parse().ok())
        .filter(|seconds| *seconds > 0)
        .map_or(DEFAULT_KEEPALIVE, |seconds: u32| Duration::from_secs(seconds.into()))
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    fn one(name: &'static str, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(HeaderName::from_static(name), HeaderValue::from_static(value))])
    }

    #[test]
    fn the_timeout_is_unlimited_when_absent_and_refused_when_malformed() {
        assert_eq!(timeout(&HeaderMap::new()).expect("absent"), None);
        assert_eq!(timeout(&one("connect-timeout-ms", "0")).expect("zero"), Some(Duration::ZERO));
        assert_eq!(timeout(&one("connect-timeout-ms", "1500")).expect("plain"), Some(Duration::from_millis(1500)));
        for bad in ["-1", "1.5", "+5", "abc", "12345678901"] {
            assert_eq!(timeout(&one("connect-timeout-ms", bad)).unwrap_err().code, Code::InvalidArgument, "{bad}");
        }
    }

    #[test]
    fn a_bad_keepalive_interval_counts_as_absent() {
        for bad in ["0", "-3", "soon", ""] {
            assert_eq!(keepalive_interval(&one("keepalive-ping-interval", bad)), DEFAULT_KEEPALIVE, "{bad}");
        }
        assert_eq!(keepalive_interval(&one("keepalive-ping-interval", "2")), Duration::from_secs(2));
    }
}
