//! The control plane's word on a sandbox: the only one that can say that it is gone (C24).

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use reqwest::{Client, Url};
use serde::Deserialize;

use super::{
    connect,
    error::{Cause, Error},
    http::{client, describe, join, parse_base, read_body},
    secret::Secret,
};

/// The bound for one question.
const TIMEOUT: Duration = Duration::from_secs(30);

/// An answer is not read further than this: what is longer is none.
const MAX_ANSWER: usize = 1 << 20;

/// What the control plane knows of a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxState {
    /// It runs.
    Running,
    /// It is paused, or being paused: it can come back.
    Paused,
    /// It does not exist any more.
    Gone,
    /// The answer says none of these.
    Unknown,
}

/// The client of a control plane.
#[derive(Clone, Debug)]
pub struct ControlPlane {
    base: Url,
    http: Client,
    headers: HeaderMap,
    secrets: Vec<Secret>,
}

/// An answer to a request, whatever its status.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    /// The HTTP status.
    pub(crate) status: StatusCode,
    /// How long the server asks to wait, when it says so in seconds.
    pub(crate) retry_after: Option<Duration>,
    /// The body, whole.
    pub(crate) body: Bytes,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Answer {
    #[serde(rename = "sandboxID")]
    sandbox_id: Option<String>,
    state: Option<String>,
    code: serde_json::Value,
}

impl ControlPlane {
    /// A client for the control plane at `api_url` (see [`super::url::api_url`]) with an API key and, for old set-ups, an access token
    /// of the account. Opens no connection.
    ///
    /// # Errors
    /// [`Error::Setup`].
    pub fn new(api_url: &str, key: Option<Secret>, account_token: Option<Secret>) -> Result<Self, Error> {
        let bad = |name: &str| Error::Setup(format!("header {name} holds characters that no header may hold"));
        let base = parse_base(api_url)?;
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        if let Some(key) = &key {
            headers.insert("x-api-key", key.header().ok_or_else(|| bad("X-API-Key"))?);
        }
        if let Some(token) = &account_token {
            let bearer = Secret::new(format!("Bearer {}", token.expose()));
            headers.insert(header::AUTHORIZATION, bearer.header().ok_or_else(|| bad("Authorization"))?);
        }
        Ok(Self { http: client(&base)?, base, headers, secrets: key.into_iter().chain(account_token).collect() })
    }

    /// Asks for the state of a sandbox. A 404 counts as gone only in the control plane's own words (a JSON body that repeats the
    /// code): a wrong address or a proxy in between answers 404 too.
    ///
    /// # Errors
    /// [`Error`]: the question was not answered; that says nothing about the sandbox.
    pub async fn sandbox_state(&self, sandbox_id: &str) -> Result<SandboxState, Error> {
        let Reply { status, body, .. } = self.exchange(Method::GET, &["sandboxes", sandbox_id], None, TIMEOUT).await?;
        self.state_of(sandbox_id, status, &body)
    }

    fn state_of(&self, sandbox_id: &str, status: StatusCode, body: &[u8]) -> Result<SandboxState, Error> {
        let answer: Answer = serde_json::from_slice(body).unwrap_or_default();
        match status {
            StatusCode::NOT_FOUND if answer.code.as_u64() == Some(404) => Ok(SandboxState::Gone),
            // Another sandbox' state is no answer.
            StatusCode::OK if answer.sandbox_id.as_deref().is_none_or(|id| id == sandbox_id) => Ok(state(answer.state)),
            StatusCode::OK | StatusCode::NOT_FOUND => Ok(SandboxState::Unknown),
            _ => Err(Error::from(connect::of_http_error(status, body)).map_message(|text| self.redact(text))),
        }
    }

    /// Makes one request, `body` being JSON, and reads the whole answer. Never repeated by itself.
    ///
    /// # Errors
    /// [`Error::Transport`] and [`Error::Timeout`]: there was no answer within `bound`.
    pub(crate) async fn exchange(
        &self,
        method: Method,
        path: &[&str],
        body: Option<Vec<u8>>,
        bound: Duration,
    ) -> Result<Reply, Error> {
        let mut url = join(&self.base, "/");
        // `base` is http(s), so it has segments; what is pushed is escaped by this.
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        let mut request = self.http.request(method, url).headers(self.headers.clone());
        if let Some(body) = body {
            request = request.header(header::CONTENT_TYPE, HeaderValue::from_static("application/json")).body(body);
        }
        let exchange = async {
            let answer = request.send().await.map_err(|error| transport(&error))?;
            let status = answer.status();
            let retry_after = answer.headers().get(header::RETRY_AFTER).and_then(seconds);
            Ok(Reply {
                status,
                retry_after,
                body: read_body(answer, MAX_ANSWER).await.map_err(|error| transport(&error))?,
            })
        };
        tokio::time::timeout(bound, exchange).await.unwrap_or(Err(Error::Timeout(bound, "asking the control plane")))
    }

    /// `text` without the key.
    pub(crate) fn redact(&self, text: String) -> String {
        self.secrets.iter().fold(text, |text, secret| secret.redact(text))
    }
}

fn state(state: Option<String>) -> SandboxState {
    match state.as_deref() {
        Some("running") => SandboxState::Running,
        Some("paused" | "pausing") => SandboxState::Paused,
        _ => SandboxState::Unknown,
    }
}

fn seconds(value: &HeaderValue) -> Option<Duration> {
    value.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}

fn transport(error: &reqwest::Error) -> Error {
    Cause::Transport { unsent: error.is_connect() }.status(tonic::Code::Unavailable, describe(error)).into()
}

#[cfg(test)]
#[path = "control_plane_tests.rs"]
mod tests;
