//! The procedure: create (or join), directories, and back when they fail; later prolong and kill.

use std::{
    future::Future,
    sync::{Mutex, PoisonError},
};

use http::HeaderMap;
use tokio::sync::watch;

pub use super::reply::Created;
use super::{
    api::{Api, Killed},
    directories,
    error::OwnerError,
    settings::{OwnerSettings, Target},
    shared::{Lent, lend},
};
use crate::envd::{
    Envd, Lanes, SandboxFacts, Version, parse_base,
    url::{UrlSettings, envd_url},
};

/// Daemons below this are too old for every client.
const OLDEST: Version = Version(0, 1, 0);

/// One sandbox from before its creation to its end.
#[derive(Debug)]
pub struct Opening {
    settings: OwnerSettings,
    /// None in debug mode: there is one sandbox on this machine, and nobody who creates or ends it.
    api: Option<Api>,
    stopped: watch::Sender<bool>,
    begun: Mutex<Option<Begun>>,
}

/// A sandbox that exists.
#[derive(Debug)]
struct Begun {
    sandbox_id: String,
    envd: Result<Envd, OwnerError>,
    _lent: Option<Lent>,
}

/// Why a sandbox that exists is not ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unready {
    /// The first error.
    pub error: OwnerError,
    /// Whether the one attempt to end it was made; never for a sandbox that is not ours.
    pub rolled_back: bool,
}

/// Connections to the edge that are opened while the sandbox is created.
struct Warm {
    url: String,
    lanes: Lanes,
}

impl Opening {
    /// Opens no connection.
    ///
    /// # Errors
    /// [`OwnerError::Setup`] when the settings make no client.
    pub fn new(settings: OwnerSettings) -> Result<Self, OwnerError> {
        let api = if settings.urls.debug { None } else { Some(Api::new(&settings)?) };
        Ok(Self { settings, api, stopped: watch::Sender::new(false), begun: Mutex::new(None) })
    }

    /// No further attempt at anything shall be made. What is under way is waited for: a create that is given up may still happen.
    pub fn stop(&self) {
        self.stopped.send_replace(true);
    }

    /// Creates or joins the sandbox. Call it once.
    ///
    /// # Errors
    /// [`OwnerError`]; then there is no sandbox, as far as anybody can know.
    pub async fn begin(&self) -> Result<Created, OwnerError> {
        let warm = self.warm();
        let created = match &self.api {
            Some(api) => api.begin(&self.settings, self.stopped()).await?,
            None => debug_sandbox(),
        };
        let envd = self.client(&created, warm);
        let lent = envd.as_ref().ok().map(|envd| lend(envd.clone()));
        let begun = Begun { sandbox_id: created.sandbox_id.clone(), envd, _lent: lent };
        *self.begun.lock().unwrap_or_else(PoisonError::into_inner) = Some(begun);
        Ok(created)
    }

    /// Makes the directories of the sandbox that was begun. When that fails, the sandbox is killed if it is ours.
    ///
    /// # Errors
    /// [`Unready`]; after [`Opening::stop`] it was not rolled back: who stops it calls [`Opening::kill`].
    pub async fn set_up(&self, created: &Created) -> Result<(), Unready> {
        let outcome = tokio::select! {
            biased;
            () = self.stopped() => return Err(Unready { error: OwnerError::Disposing, rolled_back: false }),
            outcome = self.directories(created) => outcome,
        };
        let Err(error) = outcome else { return Ok(()) };
        let (true, Some(api)) = (self.settings.owns(), &self.api) else {
            return Err(Unready { error, rolled_back: false });
        };
        api.kill_once(&created.sandbox_id).await;
        Err(Unready { error, rolled_back: true })
    }

    /// Lets the sandbox live for its whole time from now, if it runs.
    ///
    /// # Errors
    /// [`OwnerError`].
    pub async fn extend(&self) -> Result<(), OwnerError> {
        match (self.sandbox_id(), &self.api) {
            (Some(id), Some(api)) => api.extend(&id, self.settings.timeout_seconds()).await,
            _ => Ok(()),
        }
    }

    /// Ends the sandbox, if it was begun and is ours. One that is gone already is fine.
    ///
    /// # Errors
    /// [`OwnerError`]: it may live on, until its timeout.
    pub async fn kill(&self) -> Result<(), OwnerError> {
        let (Some(id), Some(api), true) = (self.sandbox_id(), &self.api, self.settings.owns()) else { return Ok(()) };
        let killed = api.kill(&id).await?;
        if killed == Killed::Before {
            tracing::debug!(sandbox = id, "the sandbox was gone already");
        }
        *self.begun.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(())
    }

    fn sandbox_id(&self) -> Option<String> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|begun| begun.sandbox_id.clone())
    }

    async fn directories(&self, created: &Created) -> Result<(), OwnerError> {
        if Version::parse(&created.envd_version).is_some_and(|version| version < OLDEST) {
            return Err(OwnerError::Template(created.envd_version.clone()));
        }
        let envd = {
            let begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
            begun.as_ref().map_or(Err(OwnerError::Disposing), |begun| begun.envd.clone())
        };
        directories::make(&envd?, &self.settings.cwd, &self.settings.runtime_root).await
    }

    /// Begins to open connections to where the sandbox will be, when that is known before it has an id.
    fn warm(&self) -> Option<Warm> {
        let url = url_before(&self.settings.urls, &self.settings.target)?;
        let base = parse_base(&url).ok()?;
        let lanes = Lanes::new(&base).ok()?;
        let opening = lanes.clone();
        tokio::spawn(async move { opening.warm(&base, &HeaderMap::new()).await });
        Some(Warm { url, lanes })
    }

    fn client(&self, created: &Created, warm: Option<Warm>) -> Result<Envd, OwnerError> {
        let url = envd_url(&self.settings.urls, &created.sandbox_id, created.domain.as_deref());
        let lanes = warm.filter(|warm| warm.url == url).map(|warm| warm.lanes);
        let facts = SandboxFacts {
            sandbox_id: created.sandbox_id.clone(),
            envd_url: url,
            access_token: created.access_token.clone(),
            traffic_token: created.traffic_token.clone(),
            headers: Vec::new(),
            envd_version: created.envd_version.clone(),
            user: None,
        };
        let envd = match lanes {
            Some(lanes) => Envd::on(lanes, facts),
            None => Envd::new(facts),
        };
        envd.map_err(|error| OwnerError::Setup(error.to_string()))
    }

    fn stopped(&self) -> impl Future<Output = ()> + use<> {
        let mut stopped = self.stopped.subscribe();
        async move {
            // The sender lives as long as this does; should it not, nobody stops anything any more.
            if stopped.wait_for(|stopped| *stopped).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

/// The daemon's URL as far as it does not depend on what the control plane will say.
fn url_before(urls: &UrlSettings, target: &Target) -> Option<String> {
    match target {
        Target::Existing { sandbox_id } => Some(envd_url(urls, sandbox_id, None)),
        Target::New { .. } => Some(envd_url(urls, "a", None)).filter(|url| *url == envd_url(urls, "b", None)),
    }
}

fn debug_sandbox() -> Created {
    Created {
        sandbox_id: "debug_sandbox_id".into(),
        domain: None,
        envd_version: "99.99.99".into(),
        access_token: None,
        traffic_token: None,
    }
}
