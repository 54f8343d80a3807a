//! Samples of a sandbox' use of resources, for the control plane's `metrics`.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use super::{Phase, Sandbox, daemon};

/// The time between samples, as the original service has it.
const EVERY: Duration = Duration::from_secs(5);

/// Samples kept: one hour and a half.
const KEPT: usize = 1080;

/// One sample in the control plane's shape: bytes, percent.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the names are the wire's")]
pub struct Sample {
    pub timestamp: String,
    pub timestamp_unix: i64,
    pub cpu_count: u64,
    pub cpu_used_pct: f64,
    pub mem_used: u64,
    pub mem_total: u64,
    pub mem_cache: u64,
    pub disk_used: u64,
    pub disk_total: u64,
}

impl Sample {
    fn new(figures: &Value) -> Self {
        let number = |name: &str| figures[name].as_u64().unwrap_or_default();
        let now = chrono::Utc::now();
        let at = figures["ts"].as_i64().unwrap_or_else(|| now.timestamp());
        let stamp = chrono::DateTime::from_timestamp(at, 0).unwrap_or(now);
        Self {
            timestamp: stamp.to_rfc3339_opts(chrono::SecondsFormat::Millis, true),
            timestamp_unix: at,
            cpu_count: number("cpu_count"),
            cpu_used_pct: figures["cpu_used_pct"].as_f64().unwrap_or_default(),
            mem_used: number("mem_used"),
            mem_total: number("mem_total"),
            mem_cache: number("mem_cache"),
            disk_used: number("disk_used"),
            disk_total: number("disk_total"),
        }
    }
}

/// The samples of one sandbox, oldest first.
#[derive(Debug, Default)]
pub struct Samples(Mutex<VecDeque<Sample>>);

impl Samples {
    /// Those from `start` to `end`, unix seconds, both included; either end may be open.
    pub fn between(&self, start: Option<i64>, end: Option<i64>) -> Vec<Sample> {
        let samples = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = |sample: &&Sample| {
            start.is_none_or(|start| sample.timestamp_unix >= start)
                && end.is_none_or(|end| sample.timestamp_unix <= end)
        };
        samples.iter().filter(wanted).cloned().collect()
    }

    fn add(&self, sample: Sample) {
        let mut samples = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if samples.len() == KEPT {
            samples.pop_front();
        }
        samples.push_back(sample);
    }
}

/// Takes samples of a running sandbox until it ends.
pub async fn sample(sandbox: Arc<Sandbox>) {
    let mut clock = tokio::time::interval(EVERY);
    clock.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = clock.tick() => {}
            () = sandbox.ended() => return,
        }
        if sandbox.phase() != Phase::Running {
            continue;
        }
        let Some(boxed) = sandbox.boxed().await else { return };
        // A box that is frozen meanwhile answers late; the sample is then stale but true.
        match daemon::metrics(&boxed, sandbox.token.as_deref()).await {
            Ok(figures) => sandbox.samples.add(Sample::new(&figures)),
            Err(error) => tracing::debug!(%error, sandbox = %sandbox.id, "no sample"),
        }
    }
}
