//! The requests to the control plane that begin, prolong and end a sandbox' life.

use std::{future::Future, time::Duration};

use http::Method;
use serde::Serialize;
use serde_json::json;

use super::{
    error::OwnerError,
    reply::{self, Created},
    retry::{self, Effect},
    settings::{OwnerSettings, Target},
};
use crate::envd::{ControlPlane, Reply, SandboxState, url::api_url};

/// The vendor's server gives up by itself after 75 s: its word is better than ours, since a create that we gave up may still happen.
const BOUND: Duration = Duration::from_secs(80);

/// The control plane, for an owner.
#[derive(Clone, Debug)]
pub(super) struct Api {
    plane: ControlPlane,
}

/// What killing found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Killed {
    /// It was there.
    Now,
    /// It was gone already.
    Before,
}

impl Api {
    /// Opens no connection.
    pub(super) fn new(settings: &OwnerSettings) -> Result<Self, OwnerError> {
        let (key, token) = (settings.api_key.clone(), settings.account_token.clone());
        let plane = ControlPlane::new(&api_url(&settings.urls), Some(key), token);
        Ok(Self { plane: plane.map_err(|error| OwnerError::Setup(error.to_string()))? })
    }

    /// Creates or joins the sandbox. `stop` resolves when no further attempt shall be made; one under way is always waited for.
    pub(super) async fn begin(
        &self,
        settings: &OwnerSettings,
        stop: impl Future<Output = ()>,
    ) -> Result<Created, OwnerError> {
        let timeout = settings.timeout_seconds();
        let reply = match &settings.target {
            Target::New { template, envs, metadata } => {
                let body = NewSandbox::body(template, timeout, envs, metadata)?;
                self.ask(Effect::Creates, Method::POST, &["sandboxes"], Some(body), stop).await?
            }
            // Its life is only ever made longer by this.
            Target::Existing { sandbox_id } => {
                let body = Some(json!({ "timeout": timeout }).to_string().into_bytes());
                self.ask(Effect::Idempotent, Method::POST, &["sandboxes", sandbox_id, "connect"], body, stop).await?
            }
        };
        reply::created(&reply)
    }

    /// Lets a running sandbox live for its whole time from now. A life that is longer stays so; a paused sandbox stays paused.
    pub(super) async fn extend(&self, sandbox_id: &str, seconds: u64) -> Result<(), OwnerError> {
        if self.plane.sandbox_state(sandbox_id).await? != SandboxState::Running {
            return Ok(());
        }
        let body = json!({ "timeout": seconds }).to_string().into_bytes();
        let path = ["sandboxes", sandbox_id, "connect"];
        self.ask(Effect::Idempotent, Method::POST, &path, Some(body), std::future::pending()).await.map(drop)
    }

    /// Ends the sandbox.
    pub(super) async fn kill(&self, sandbox_id: &str) -> Result<Killed, OwnerError> {
        let path = ["sandboxes", sandbox_id];
        match self.ask(Effect::Idempotent, Method::DELETE, &path, None, std::future::pending()).await {
            Ok(_) => Ok(Killed::Now),
            Err(OwnerError::NotFound(_)) => Ok(Killed::Before),
            Err(error) => Err(error),
        }
    }

    /// Ends the sandbox by one request, come what may.
    pub(super) async fn kill_once(&self, sandbox_id: &str) {
        let outcome = self.plane.exchange(Method::DELETE, &["sandboxes", sandbox_id], None, BOUND).await;
        if let Err(error) = outcome {
            tracing::debug!(%error, sandbox_id, "a sandbox that could not be set up was not killed; it ends by its timeout");
        }
    }

    async fn ask(
        &self,
        effect: Effect,
        method: Method,
        path: &[&str],
        body: Option<Vec<u8>>,
        stop: impl Future<Output = ()>,
    ) -> Result<Reply, OwnerError> {
        tokio::pin!(stop);
        let mut attempt = 1;
        loop {
            let error = match self.plane.exchange(method.clone(), path, body.clone(), BOUND).await {
                Ok(reply) if reply.status.is_success() => return Ok(reply),
                Ok(reply) => reply::error(&reply, |text| self.plane.redact(text)),
                Err(error) => error.into(),
            };
            let Some(pause) = retry::pause(effect, attempt, &error) else { return Err(error) };
            tracing::debug!(%error, ?pause, attempt, "the control plane is asked again");
            tokio::select! {
                () = &mut stop => return Err(error),
                () = tokio::time::sleep(pause) => attempt += 1,
            }
        }
    }
}

/// The body of a create, as the vendor's SDK writes it for a secure sandbox that is killed by its timeout.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NewSandbox<'a> {
    #[serde(rename = "templateID")]
    template: &'a str,
    timeout: u64,
    secure: bool,
    #[serde(rename = "allow_internet_access")]
    allow_internet_access: bool,
    auto_pause: bool,
    auto_resume: AutoResume,
    #[serde(skip_serializing_if = "serde_json::Map::is_empty")]
    env_vars: serde_json::Map<String, serde_json::Value>,
    #[serde(skip_serializing_if = "serde_json::Map::is_empty")]
    metadata: serde_json::Map<String, serde_json::Value>,
}

#[derive(Serialize)]
struct AutoResume {
    enabled: bool,
}

impl NewSandbox<'_> {
    fn body(
        template: &str,
        timeout: u64,
        envs: &[(String, String)],
        metadata: &[(String, String)],
    ) -> Result<Vec<u8>, OwnerError> {
        let map = |pairs: &[(String, String)]| {
            pairs.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect()
        };
        let body = NewSandbox {
            template,
            timeout,
            secure: true,
            allow_internet_access: true,
            auto_pause: false,
            auto_resume: AutoResume { enabled: false },
            env_vars: map(envs),
            metadata: map(metadata),
        };
        serde_json::to_vec(&body).map_err(|error| OwnerError::Setup(error.to_string()))
    }
}
