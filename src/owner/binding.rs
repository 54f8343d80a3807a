//! What JavaScript sees of an owner. Defaults, validation and the vendor SDK's object are the shim's (`lib/owner/`).

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use napi::{Error, Result};
use napi_derive::napi;

use super::{
    error::OwnerError,
    opening::{Created, Opening, Unready},
    settings::{OwnerSettings, Target},
};
use crate::{
    binding::{runtime, waker::Waker},
    envd::{Secret, url::UrlSettings},
    session::{slot::Slot, wake::Wakes},
};

/// A name and its value.
#[napi(object, object_to_js = false)]
pub struct OwnerPair {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// What an owner is told. `null` is unset.
#[napi(object, object_to_js = false, use_nullable = true)]
pub struct OwnerConfig {
    /// Key for the control plane.
    pub api_key: String,
    /// Account token for the control plane.
    pub account_token: Option<String>,
    /// `E2B_…` variables that say where the servers are.
    pub environment: Vec<OwnerPair>,
    /// Domain, before the variables.
    pub domain: Option<String>,
    /// Milliseconds of life.
    pub timeout_ms: f64,
    /// The shared directory.
    pub cwd: String,
    /// The private directory.
    pub runtime_root: String,
    /// Template of a new sandbox.
    pub template: String,
    /// Variables of a new sandbox.
    pub envs: Vec<OwnerPair>,
    /// Labels of a new sandbox.
    pub metadata: Vec<OwnerPair>,
    /// An existing sandbox, instead of a new one.
    pub sandbox_id: Option<String>,
}

/// A sandbox that exists.
#[napi(object, object_from_js = false, use_nullable = true)]
pub struct CreatedObject {
    /// Its id.
    pub sandbox_id: String,
    /// Its domain.
    pub domain: Option<String>,
    /// Its daemon's version.
    pub envd_version: String,
    /// `X-Access-Token`.
    pub access_token: Option<String>,
    /// `e2b-traffic-access-token`.
    pub traffic_token: Option<String>,
}

/// An error, for the shim to make one of.
#[napi(object, object_from_js = false)]
pub struct OwnerErrorObject {
    /// `code`.
    pub code: String,
    /// `message`.
    pub message: String,
    /// `status`.
    pub status: Option<u16>,
    /// `errorCode`.
    pub error_code: Option<String>,
    /// `retryAfterMs`.
    pub retry_after_ms: Option<f64>,
}

/// An answer.
#[napi(object, object_from_js = false, use_nullable = true)]
pub struct OwnerAnswerObject {
    /// Why there is none.
    pub error: Option<OwnerErrorObject>,
    /// The sandbox.
    pub sandbox: Option<CreatedObject>,
    /// Whether a sandbox that could not be set up was killed, or an attempt was made.
    pub rolled_back: bool,
}

#[derive(Debug)]
enum Answer {
    Done,
    Created(Created),
    Failed(OwnerError),
    Unready(Unready),
}

/// A question about a sandbox' life.
#[napi]
pub struct NativeOwnerRequest {
    slot: Arc<Slot<Answer>>,
}

#[napi]
impl NativeOwnerRequest {
    /// The id under which the answer is announced.
    #[napi(getter, catch_unwind)]
    pub fn id(&self) -> u32 {
        self.slot.id()
    }

    /// The answer, once; `null` before it came.
    #[napi(catch_unwind)]
    pub fn take(&self) -> Option<OwnerAnswerObject> {
        let mut object = OwnerAnswerObject { error: None, sandbox: None, rolled_back: false };
        match self.slot.take()? {
            Answer::Done => {}
            Answer::Created(created) => object.sandbox = Some(created.into()),
            Answer::Failed(error) => object.error = Some((&error).into()),
            Answer::Unready(unready) => {
                object.error = Some((&unready.error).into());
                object.rolled_back = unready.rolled_back;
            }
        }
        Some(object)
    }

    /// Nobody waits for it any more.
    #[napi(catch_unwind)]
    pub fn cancel(&self) {
        self.slot.cancel();
    }
}

/// One sandbox' owner.
#[napi]
pub struct NativeOwner {
    /// None once it was let go.
    opening: Mutex<Option<Arc<Opening>>>,
    wakes: Arc<Wakes>,
    created: Arc<Slot<Answer>>,
    ready: Arc<Slot<Answer>>,
}

#[napi]
impl NativeOwner {
    /// Begins to create the sandbox.
    #[napi(constructor, catch_unwind)]
    pub fn new(config: OwnerConfig, waker: &Waker) -> Result<Self> {
        let opening = Opening::new(settings(config)).map_err(|error| Error::from_reason(error.to_string()))?;
        let (opening, wakes) = (Arc::new(opening), Arc::clone(waker.wakes()));
        let runtime = runtime::handle()?;
        let (created, ready) = (Slot::new(&wakes), Slot::new(&wakes));
        runtime.spawn(open(Arc::clone(&opening), Arc::clone(&created), Arc::clone(&ready)));
        Ok(Self { opening: Mutex::new(Some(opening)), wakes, created, ready })
    }

    /// Answered when the sandbox exists, or can't be created.
    #[napi(catch_unwind)]
    pub fn created(&self) -> NativeOwnerRequest {
        NativeOwnerRequest { slot: Arc::clone(&self.created) }
    }

    /// Answered when the sandbox has its directories, or won't get them.
    #[napi(catch_unwind)]
    pub fn ready(&self) -> NativeOwnerRequest {
        NativeOwnerRequest { slot: Arc::clone(&self.ready) }
    }

    /// No further attempt at anything is made from now on.
    #[napi(catch_unwind)]
    pub fn stop(&self) {
        if let Some(opening) = self.opening() {
            opening.stop();
        }
    }

    /// Lets connections go as soon as nothing is under way: nothing is asked any more. Without it they stay until this object is
    /// collected.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        self.opening.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Lets the sandbox live for its whole time from now.
    #[napi(catch_unwind)]
    pub fn extend(&self) -> Result<NativeOwnerRequest> {
        self.ask(|opening| async move { opening.extend().await })
    }

    /// Ends the sandbox, if it is ours.
    #[napi(catch_unwind)]
    pub fn kill(&self) -> Result<NativeOwnerRequest> {
        self.ask(|opening| async move { opening.kill().await })
    }
}

impl NativeOwner {
    fn opening(&self) -> Option<Arc<Opening>> {
        self.opening.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn ask<F>(&self, question: impl FnOnce(Arc<Opening>) -> F) -> Result<NativeOwnerRequest>
    where
        F: Future<Output = std::result::Result<(), OwnerError>> + Send + 'static,
    {
        let runtime = runtime::handle()?;
        let opening = self.opening().ok_or_else(|| Error::from_reason("the owner was closed"))?;
        let slot = Slot::new(&self.wakes);
        let (answer, question) = (Arc::clone(&slot), question(opening));
        runtime.spawn(async move { answer.answer(question.await.map_or_else(Answer::Failed, |()| Answer::Done)) });
        Ok(NativeOwnerRequest { slot })
    }
}

async fn open(opening: Arc<Opening>, created: Arc<Slot<Answer>>, ready: Arc<Slot<Answer>>) {
    match opening.begin().await {
        Err(error) => {
            created.answer(Answer::Failed(error.clone()));
            ready.answer(Answer::Failed(error));
        }
        Ok(sandbox) => {
            created.answer(Answer::Created(sandbox.clone()));
            ready.answer(opening.set_up(&sandbox).await.map_or_else(Answer::Unready, |()| Answer::Done));
        }
    }
}

fn settings(config: OwnerConfig) -> OwnerSettings {
    let pairs = |pairs: Vec<OwnerPair>| pairs.into_iter().map(|pair| (pair.name, pair.value)).collect::<Vec<_>>();
    let environment = pairs(config.environment);
    let variable = |name: &str| environment.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    let target = match config.sandbox_id {
        Some(sandbox_id) => Target::Existing { sandbox_id },
        None => Target::New { template: config.template, envs: pairs(config.envs), metadata: pairs(config.metadata) },
    };
    OwnerSettings {
        urls: UrlSettings { domain: config.domain, ..UrlSettings::default() }.or_environment(variable),
        api_key: Secret::new(config.api_key),
        account_token: config.account_token.map(Secret::new),
        target,
        timeout: Duration::try_from_secs_f64(config.timeout_ms / 1000.0).unwrap_or(Duration::MAX / 2),
        cwd: config.cwd,
        runtime_root: config.runtime_root,
    }
}

impl From<Created> for CreatedObject {
    fn from(created: Created) -> Self {
        let shown = |secret: Option<Secret>| secret.map(|secret| secret.expose().to_owned());
        Self {
            sandbox_id: created.sandbox_id,
            domain: created.domain,
            envd_version: created.envd_version,
            access_token: shown(created.access_token),
            traffic_token: shown(created.traffic_token),
        }
    }
}

impl From<&OwnerError> for OwnerErrorObject {
    fn from(error: &OwnerError) -> Self {
        let facts = error.facts();
        Self {
            code: facts.code.to_owned(),
            message: facts.message,
            status: facts.status,
            error_code: facts.error_code,
            retry_after_ms: facts.retry_after.map(|wait| wait.as_secs_f64() * 1000.0),
        }
    }
}
