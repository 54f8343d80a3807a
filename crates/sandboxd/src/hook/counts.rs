//! Requests by route.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

/// Counts since the start or the last reset.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// All requests to control plane and edge, the administration's own left out.
    pub total: u64,
    /// Control plane: `METHOD /route` with ids replaced by `{id}`.
    pub control: BTreeMap<String, u64>,
    /// Edge: per sandbox id (empty: not routable), `METHOD /path`.
    pub sandboxes: BTreeMap<String, BTreeMap<String, u64>>,
}

/// The counters.
#[derive(Debug, Default)]
pub struct Counts(Mutex<Tally>);

impl Counts {
    fn tally(&self) -> std::sync::MutexGuard<'_, Tally> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a request to the control plane.
    pub fn control(&self, method: &str, route: &str) {
        let mut tally = self.tally();
        tally.total += 1;
        *tally.control.entry(format!("{method} {route}")).or_default() += 1;
    }

    /// Counts a request at the edge.
    pub fn edge(&self, sandbox: &str, method: &str, path: &str) {
        let mut tally = self.tally();
        tally.total += 1;
        let routes = tally.sandboxes.entry(sandbox.to_owned()).or_default();
        *routes.entry(format!("{method} {path}")).or_default() += 1;
    }

    /// The counts now.
    pub fn read(&self) -> Tally {
        self.tally().clone()
    }

    /// Sets all counts to zero.
    pub fn reset(&self) {
        *self.tally() = Tally::default();
    }
}
