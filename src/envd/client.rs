//! One sandbox' daemon: its connections, its headers, and the way of writing messages that it takes.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use ::http::HeaderMap;
use reqwest::{Client, Url};
use tonic::Status;

use super::{
    connect::{Codec, ConnectService},
    error::{Cause, Error},
    facts::SandboxFacts,
    http::{Lanes, parse_base, sandbox_headers},
};

/// A short call, the head of a stream and its first event must be answered within this, as with the vendor's SDK.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// The client of one sandbox; cheap to clone, all clones share connections.
#[derive(Clone, Debug)]
pub struct Envd {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    facts: SandboxFacts,
    base: Url,
    headers: HeaderMap,
    lanes: Lanes,
    /// The daemon refused binary messages once.
    json: AtomicBool,
    answer_timeout: Duration,
}

impl Envd {
    /// Makes the client; opens no connection.
    ///
    /// # Errors
    /// [`Error::Setup`] when the facts cannot be used.
    pub fn new(facts: SandboxFacts) -> Result<Self, Error> {
        Self::with_answer_timeout(facts, ANSWER_TIMEOUT)
    }

    /// The same with another bound for short calls and for the first event of a stream.
    ///
    /// # Errors
    /// [`Error::Setup`].
    pub fn with_answer_timeout(facts: SandboxFacts, answer_timeout: Duration) -> Result<Self, Error> {
        let base = parse_base(&facts.envd_url)?;
        let lanes = Lanes::new(&base)?;
        Self::with_lanes(facts, lanes, answer_timeout)
    }

    /// The same on connections that may be open already: those to the edge can be, before the sandbox has its id.
    ///
    /// # Errors
    /// [`Error::Setup`].
    pub(crate) fn on(lanes: Lanes, facts: SandboxFacts) -> Result<Self, Error> {
        Self::with_lanes(facts, lanes, ANSWER_TIMEOUT)
    }

    fn with_lanes(facts: SandboxFacts, lanes: Lanes, answer_timeout: Duration) -> Result<Self, Error> {
        let (base, headers) = (parse_base(&facts.envd_url)?, sandbox_headers(&facts)?);
        Ok(Self {
            inner: Arc::new(Inner { facts, base, headers, lanes, json: AtomicBool::new(false), answer_timeout }),
        })
    }

    /// The same sandbox as another of its users, where the daemon allows that.
    ///
    /// # Errors
    /// [`Error::Setup`].
    pub fn as_user(&self, user: &str) -> Result<Self, Error> {
        let facts = SandboxFacts { user: Some(user.to_owned()), ..self.inner.facts.clone() };
        let client = Self::with_lanes(facts, self.inner.lanes.clone(), self.inner.answer_timeout)?;
        client.inner.json.store(self.speaks_json(), Ordering::Relaxed);
        Ok(client)
    }

    /// What this client was made from.
    pub fn facts(&self) -> &SandboxFacts {
        &self.inner.facts
    }

    /// Opens a connection for each kind of use, so that what follows does not pay for it. Failures are left to what follows.
    pub async fn warm(&self) {
        self.inner.lanes.warm(&self.inner.base, &self.inner.headers).await;
    }

    /// Whether messages go as JSON, because the daemon refused binary ones.
    pub fn speaks_json(&self) -> bool {
        self.inner.json.load(Ordering::Relaxed)
    }

    /// As if the daemon had refused binary messages.
    #[cfg(test)]
    pub(crate) fn force_json(&self) {
        self.inner.json.store(true, Ordering::Relaxed);
    }

    pub(super) fn base(&self) -> &Url {
        &self.inner.base
    }

    pub(super) fn headers(&self) -> HeaderMap {
        self.inner.headers.clone()
    }

    pub(super) fn lanes(&self) -> &Lanes {
        &self.inner.lanes
    }

    /// A Connect service on `lane`.
    pub(super) fn service(&self, lane: &Client, codec: Codec) -> ConnectService {
        ConnectService { http: lane.clone(), base: self.inner.base.clone(), headers: self.inner.headers.clone(), codec }
    }

    pub(super) fn codec(&self) -> Codec {
        if self.speaks_json() { Codec::Json } else { Codec::Binary }
    }

    /// Makes a call with the codec of this sandbox. A 415 says that the request was not even read, so it goes once more as JSON.
    pub(super) async fn negotiate<T, F: Future<Output = Result<T, Status>>>(
        &self,
        attempt: impl Fn(Codec) -> F,
    ) -> Result<T, Error> {
        let codec = self.codec();
        let mut outcome = attempt(codec).await;
        if codec == Codec::Binary && outcome.as_ref().is_err_and(|status| Cause::of(status) == Some(Cause::Http(415))) {
            self.inner.json.store(true, Ordering::Relaxed);
            tracing::debug!(sandbox = self.inner.facts.sandbox_id, "the daemon wants JSON");
            outcome = attempt(Codec::Json).await;
        }
        outcome.map_err(|status| self.error(status))
    }

    /// The typed error for `status`, without secrets.
    pub(super) fn error(&self, status: impl Into<Error>) -> Error {
        status.into().map_message(|text| self.inner.facts.redact(text))
    }

    /// Waits for `call` no longer than the answer bound; `what` completes "no answer while …".
    pub(super) async fn in_time<T>(
        &self,
        what: &'static str,
        call: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let bound = self.inner.answer_timeout;
        tokio::time::timeout(bound, call).await.unwrap_or(Err(Error::Timeout(bound, what)))
    }
}

/// Makes a client of service `$service` (module of [`super::stubs`]) for `$connect` and evaluates `$call` with it, in either codec.
macro_rules! with_client {
    ($module:ident :: $inner:ident :: $name:ident, $connect:expr, $client:ident => $call:expr) => {{
        use $crate::envd::{
            connect::{Codec, MAX_MESSAGE},
            stubs,
        };
        let connect = $connect;
        match connect.codec {
            Codec::Binary => {
                let mut $client =
                    stubs::binary::$module::$inner::$name::new(connect).max_decoding_message_size(MAX_MESSAGE);
                $call
            }
            Codec::Json => {
                let mut $client =
                    stubs::json::$module::$inner::$name::new(connect).max_decoding_message_size(MAX_MESSAGE);
                $call
            }
        }
    }};
}
pub(super) use with_client;
