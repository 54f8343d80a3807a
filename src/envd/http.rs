//! The HTTP clients of one server: one for bulk output, one for bulk input, one for short calls.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, header};
use reqwest::{Client, Url, redirect::Policy};

use super::{
    error::Error,
    facts::{ENVD_PORT, SandboxFacts},
    tls,
};

/// Says who we are. Edges answer with HTML pages to names that look like a browser's.
pub const USER_AGENT: &str = concat!("dsh-subprocess-native/", env!("CARGO_PKG_VERSION"));

/// A bulk stream may have this much in flight on HTTP/2 (a gigabit line with 30 ms of delay).
const STREAM_WINDOW: u32 = 4 << 20;
const CONNECTION_WINDOW: u32 = 8 << 20;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// HTTP/2 pings: they find a dead connection before the next short call waits on it.
const PING_INTERVAL: Duration = Duration::from_secs(20);
const PING_TIMEOUT: Duration = Duration::from_secs(15);
const REDIRECTS: usize = 5;

/// Separate clients, so that a short call never shares an HTTP/2 connection (its window, its stream limit) with a bulk stream.
#[derive(Clone, Debug)]
pub struct Lanes {
    /// Output of processes.
    pub down: Client,
    /// Input of processes.
    pub up: Client,
    /// Short calls and uploads.
    pub calls: Client,
}

impl Lanes {
    /// Clients for the server at `base`.
    ///
    /// # Errors
    /// [`Error::Setup`].
    pub fn new(base: &Url) -> Result<Self, Error> {
        Ok(Self { down: client(base)?, up: client(base)?, calls: client(base)? })
    }

    /// Opens a connection to `base` on each, so that what follows does not pay for it. Failures are left to what follows.
    pub async fn warm(&self, base: &Url, headers: &HeaderMap) {
        let ping = async |lane: &Client| {
            let request = lane.get(join(base, "/health")).headers(headers.clone());
            // Only a body that was read lets its connection be used again.
            if let Ok(Ok(answer)) = tokio::time::timeout(CONNECT_TIMEOUT, request.send()).await {
                let _ = answer.bytes().await;
            }
        };
        tokio::join!(ping(&self.down), ping(&self.up), ping(&self.calls));
    }
}

/// A client for the server at `base`: proxies by the environment, but never for this machine itself.
///
/// # Errors
/// [`Error::Setup`].
pub fn client(base: &Url) -> Result<Client, Error> {
    let local = is_loopback(base);
    // Reading the certificates takes milliseconds, which a server on this machine need not pay for.
    let tls = if local && base.scheme() == "http" { tls::without_trust() } else { tls::config() };
    let mut builder = Client::builder()
        .tls_backend_preconfigured((*tls?).clone())
        .user_agent(USER_AGENT)
        .connect_timeout(CONNECT_TIMEOUT)
        .redirect(same_origin())
        .referer(false)
        .http2_initial_stream_window_size(STREAM_WINDOW)
        .http2_initial_connection_window_size(CONNECTION_WINDOW)
        .http2_keep_alive_interval(PING_INTERVAL)
        .http2_keep_alive_timeout(PING_TIMEOUT);
    if local {
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| Error::Setup(describe(&error)))
}

/// Parses a base URL; its path ends without a slash afterwards.
///
/// # Errors
/// [`Error::Setup`]; the text names no credentials, as it does not repeat the URL.
pub fn parse_base(url: &str) -> Result<Url, Error> {
    let url = Url::parse(url.trim_end_matches('/')).map_err(|error| Error::Setup(format!("bad URL: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(Error::Setup("bad URL: neither http nor https".into()));
    }
    Ok(url)
}

/// `base` with `path` (which begins with a slash) after its own path.
pub fn join(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    url.set_path(&format!("{}{path}", base.path().trim_end_matches('/')));
    url
}

/// The headers of every request to one sandbox.
///
/// # Errors
/// [`Error::Setup`] names the header that no request may hold, never its value.
pub fn sandbox_headers(facts: &SandboxFacts) -> Result<HeaderMap, Error> {
    let bad = |name: &str| Error::Setup(format!("header {name} holds characters that no header may hold"));
    let mut headers = HeaderMap::new();
    for (name, value) in &facts.headers {
        let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad(name))?;
        let mut value = HeaderValue::from_str(value).map_err(|_| bad(name))?;
        value.set_sensitive(true);
        headers.insert(parsed, value);
    }
    headers.insert("e2b-sandbox-id", HeaderValue::from_str(&facts.sandbox_id).map_err(|_| bad("E2b-Sandbox-Id"))?);
    headers.insert("e2b-sandbox-port", HeaderValue::from(ENVD_PORT));
    if let Some(token) = &facts.access_token {
        headers.insert("x-access-token", token.header().ok_or_else(|| bad("X-Access-Token"))?);
    }
    if let Some(token) = &facts.traffic_token {
        headers.insert("e2b-traffic-access-token", token.header().ok_or_else(|| bad("e2b-traffic-access-token"))?);
    }
    headers.insert(header::USER_AGENT, HeaderValue::from_static(USER_AGENT));
    Ok(headers)
}

/// A redirect elsewhere would carry the token to a stranger: only the same scheme, host and port are followed.
fn same_origin() -> Policy {
    Policy::custom(|attempt| {
        let stays = attempt.previous().first().is_some_and(|first| first.origin() == attempt.url().origin());
        if stays && attempt.previous().len() <= REDIRECTS { attempt.follow() } else { attempt.stop() }
    })
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host.ends_with(".localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The whole chain of a network error, without the URL.
pub fn describe(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = String::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let part = match error.downcast_ref::<reqwest::Error>() {
            // Its own text would repeat the URL.
            Some(error) if error.is_connect() => "cannot connect".to_owned(),
            Some(error) if error.is_timeout() => "timed out".to_owned(),
            Some(error) if error.is_body() || error.is_decode() => "the body broke off".to_owned(),
            Some(error) if error.is_builder() => "bad client settings".to_owned(),
            Some(_) => "the request failed".to_owned(),
            None => error.to_string(),
        };
        if !text.ends_with(&part) {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(&part);
        }
        next = error.source();
    }
    text
}

/// The body of an answer, up to `cap` bytes; the rest is not read.
pub(super) async fn read_body(mut answer: reqwest::Response, cap: usize) -> Result<Bytes, reqwest::Error> {
    let mut whole = BytesMut::new();
    while whole.len() < cap
        && let Some(chunk) = answer.chunk().await?
    {
        whole.extend_from_slice(&chunk[..chunk.len().min(cap - whole.len())]);
    }
    Ok(whole.freeze())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

    use super::*;
    use crate::envd::facts::test_facts;

    #[test]
    fn a_path_prefix_of_the_base_is_kept() {
        let base = parse_base("http://h:1/prefix/").unwrap();
        assert_eq!(join(&base, "/files").as_str(), "http://h:1/prefix/files");
        assert_eq!(join(&parse_base("http://h").unwrap(), "/files").as_str(), "http://h/files");
    }

    #[test]
    fn this_machine_is_recognised_in_every_spelling() {
        for url in ["http://localhost:1", "http://a.localhost", "http://127.0.0.9", "http://[::1]:3"] {
            assert!(is_loopback(&Url::parse(url).unwrap()), "{url}");
        }
        assert!(!is_loopback(&Url::parse("http://10.0.0.1").unwrap()));
        assert!(!is_loopback(&Url::parse("https://sandbox.e2b.app").unwrap()));
    }

    #[test]
    fn every_request_names_the_sandbox_and_the_inspection_hides_the_token() {
        let headers = sandbox_headers(&test_facts("http://h".into())).unwrap();
        assert_eq!(headers["e2b-sandbox-id"], "isandbox");
        assert_eq!(headers["e2b-sandbox-port"], "49983");
        assert_eq!(headers["x-access-token"], "ea-token-77");
        let text = format!("{headers:?}");
        assert!(!text.contains("ea-token-77") && !text.contains("extra-value"), "{text}");
    }

    #[test]
    fn our_name_is_not_taken_for_a_browser() {
        for word in ["mozilla", "chrome", "safari", "firefox", "edge", "opera", "msie"] {
            assert!(!USER_AGENT.contains(word));
        }
    }

    #[test]
    fn a_url_that_is_none_is_refused_without_repeating_it() {
        for url in ["ftp://key@h", "no url", "http://"] {
            let text = parse_base(url).unwrap_err().to_string();
            assert!(!text.contains("key"), "{text}");
        }
    }
}
