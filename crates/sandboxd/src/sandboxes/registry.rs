//! All sandboxes of the service.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, DurationRound, TimeDelta, Utc};

use super::{Error, Sandbox, Spec, daemon, deadline, id, metrics};
use crate::boxes::Boxes;

/// The register, and the maker of the boxes behind it.
#[derive(Debug)]
pub struct Sandboxes {
    boxes: Boxes,
    count: AtomicU64,
    by_id: Mutex<HashMap<Arc<str>, Arc<Sandbox>>>,
}

/// Now, in the wire's precision: clients compare instants that they have read.
pub(super) fn now() -> DateTime<Utc> {
    let now = Utc::now();
    now.duration_trunc(TimeDelta::milliseconds(1)).unwrap_or(now)
}

impl Sandboxes {
    /// A service without sandboxes.
    pub fn new(boxes: Boxes) -> Self {
        Self { boxes, count: AtomicU64::new(0), by_id: Mutex::default() }
    }

    /// The maker of the boxes.
    pub fn boxes(&self) -> &Boxes {
        &self.boxes
    }

    pub(super) fn by_id(&self) -> std::sync::MutexGuard<'_, HashMap<Arc<str>, Arc<Sandbox>>> {
        self.by_id.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The sandbox with this id, running or paused.
    pub fn get(&self, id: &str) -> Option<Arc<Sandbox>> {
        self.by_id().get(id).cloned()
    }

    /// The sandbox with this id.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub fn need(&self, id: &str) -> Result<Arc<Sandbox>, Error> {
        self.get(id).ok_or_else(|| Error::NotFound(id.to_owned()))
    }

    /// Every sandbox, in the order of creation.
    pub fn all(&self) -> Vec<Arc<Sandbox>> {
        let mut all: Vec<_> = self.by_id().values().cloned().collect();
        all.sort_by_key(|sandbox| sandbox.number);
        all
    }

    /// Starts a sandbox; it is reachable when this returns.
    ///
    /// # Errors
    /// [`Error::Box`] or [`Error::Daemon`]; nothing is left behind.
    pub async fn create(self: &Arc<Self>, spec: Spec) -> Result<Arc<Sandbox>, Error> {
        let random = |error: getrandom::Error| Error::Daemon(error.to_string());
        let id = id::sandbox().map_err(random)?;
        self.create_as(id, spec).await
    }

    /// The same under a given id.
    ///
    /// # Errors
    /// As [`Sandboxes::create`].
    pub async fn create_as(self: &Arc<Self>, id: String, spec: Spec) -> Result<Arc<Sandbox>, Error> {
        let token = match spec.secure {
            true => Some(id::token().map_err(|error| Error::Daemon(error.to_string()))?),
            false => None,
        };
        let variables = [("E2B_SANDBOX", "true"), ("E2B_SANDBOX_ID", &id), ("E2B_TEMPLATE_ID", &spec.template)]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let boxed = Arc::new(self.boxes.start(&id, variables.into()).await?);
        let user = daemon::user(self.boxes.isolation());
        daemon::init(&boxed, token.as_deref(), &spec, user).await?;
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let sandbox = Arc::new(Sandbox::new(id, number, spec, token, now(), Arc::clone(&boxed)));
        self.by_id().insert(Arc::clone(&sandbox.id), Arc::clone(&sandbox));
        tokio::spawn(deadline::watch(Arc::clone(self), Arc::clone(&sandbox)));
        tokio::spawn(metrics::sample(Arc::clone(&sandbox)));
        self.follow(&sandbox, &boxed);
        tracing::info!(sandbox = %sandbox.id, template = %sandbox.spec.template, "created");
        Ok(sandbox)
    }

    /// Notices when a box ends by itself, for instance because its daemon was killed.
    fn follow(self: &Arc<Self>, sandbox: &Arc<Sandbox>, boxed: &Arc<crate::boxes::Boxed>) {
        let (all, id, ended) = (Arc::clone(self), Arc::clone(&sandbox.id), boxed.ended());
        tokio::spawn(async move {
            ended.await;
            if all.kill(&id).await.is_ok() {
                tracing::warn!(sandbox = %id, "the box ended by itself");
            }
        });
    }
}
