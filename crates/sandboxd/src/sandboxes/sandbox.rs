//! One sandbox.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, Utc};
use tokio::sync::{Notify, watch};

use super::metrics::Samples;
use super::streams::Streams;
use crate::boxes::Boxed;

/// What a client asks for at create.
#[derive(Clone, Debug, Default)]
pub struct Spec {
    /// The template's id, which clients see again; every sandbox is built alike.
    pub template: String,
    /// Seconds until the deadline.
    pub timeout: u64,
    /// The client's own pairs.
    pub metadata: BTreeMap<String, String>,
    /// Variables for every process.
    pub env: BTreeMap<String, String>,
    /// Whether the daemon wants a token.
    pub secure: bool,
    /// Pause instead of ending at the deadline.
    pub auto_pause: bool,
    /// Wake at a request to the edge.
    pub auto_resume: bool,
    /// Echoed; the sandbox has the host's network in any case.
    pub internet: Option<bool>,
    /// Echoed.
    pub network: Option<serde_json::Value>,
}

/// Where a sandbox is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Reachable.
    Running,
    /// All processes stopped; unreachable.
    Paused,
    /// Gone or going.
    Ended,
}

/// What changes in a life.
#[derive(Debug)]
pub(super) struct State {
    pub phase: Phase,
    pub end_at: DateTime<Utc>,
    /// Seconds: what the deadline is set to on a wake-up.
    pub timeout: u64,
}

/// A sandbox, from its creation to its end.
#[derive(Debug)]
pub struct Sandbox {
    /// Its id.
    pub id: Arc<str>,
    /// Grows with every sandbox: the order of creation.
    pub number: u64,
    /// What was asked for.
    pub spec: Spec,
    /// The daemon's token, if secure.
    pub token: Option<String>,
    /// Since when.
    pub started_at: DateTime<Utc>,
    /// Open requests.
    pub streams: Streams,
    /// Samples of its use of resources.
    pub samples: Samples,
    pub(super) state: Mutex<State>,
    pub(super) deadline_moved: Notify,
    pub(super) phases: watch::Sender<Phase>,
    /// One change of phase at a time; empty once ended.
    pub(super) boxed: tokio::sync::RwLock<Option<Arc<Boxed>>>,
}

impl Sandbox {
    pub(super) fn new(
        id: String,
        number: u64,
        spec: Spec,
        token: Option<String>,
        started_at: DateTime<Utc>,
        boxed: Arc<Boxed>,
    ) -> Self {
        let timeout = spec.timeout;
        let end_at = started_at + seconds(timeout);
        Self {
            id: id.into(),
            number,
            spec,
            token,
            started_at,
            streams: Streams::default(),
            samples: Samples::default(),
            state: Mutex::new(State { phase: Phase::Running, end_at, timeout }),
            deadline_moved: Notify::new(),
            phases: watch::Sender::new(Phase::Running),
            boxed: tokio::sync::RwLock::new(Some(boxed)),
        }
    }

    pub(super) fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where it is in its life.
    pub fn phase(&self) -> Phase {
        self.state().phase
    }

    /// When it ends or pauses by itself; for a paused one, when it was paused.
    pub fn end_at(&self) -> DateTime<Utc> {
        self.state().end_at
    }

    /// Its box, while it has one.
    pub async fn boxed(&self) -> Option<Arc<Boxed>> {
        self.boxed.read().await.clone()
    }

    /// Resolves when it has ended.
    pub async fn ended(&self) {
        // The sender lives in this sandbox.
        let _ = self.phases.subscribe().wait_for(|phase| *phase == Phase::Ended).await;
    }

    /// Goes to another phase; the end wins over every other change.
    pub(super) fn enter(&self, phase: Phase) {
        let mut state = self.state();
        if state.phase != Phase::Ended {
            state.phase = phase;
            self.phases.send_replace(phase);
        }
    }
}

/// A span of so many seconds; absurd numbers become a century.
pub(super) fn seconds(count: u64) -> chrono::TimeDelta {
    const CENTURY: i64 = 100 * 366 * 86_400;
    chrono::TimeDelta::seconds(i64::try_from(count).unwrap_or(CENTURY).min(CENTURY))
}
