//! All client connections, and the plans that they are under.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use super::{Faults, How, Link};

#[derive(Debug, Default)]
struct Inner {
    next: u64,
    open: HashMap<u64, Arc<Link>>,
    everywhere: Arc<Faults>,
    by_sandbox: HashMap<String, Arc<Faults>>,
}

impl Inner {
    fn plan_for(&self, sandbox: Option<&str>) -> Arc<Faults> {
        sandbox.and_then(|id| self.by_sandbox.get(id)).unwrap_or(&self.everywhere).clone()
    }

    fn enforce(&self) {
        for link in self.open.values() {
            link.set_faults(self.plan_for(link.sandbox().as_deref()));
        }
    }
}

/// Keeps a connection in the register; dropping it says that the connection has ended.
#[derive(Debug)]
pub struct Registration {
    links: Arc<Links>,
    /// The connection.
    pub link: Arc<Link>,
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.links.inner().open.remove(&self.link.id);
    }
}

/// The register of connections and plans.
#[derive(Debug, Default)]
pub struct Links(Mutex<Inner>);

impl Links {
    fn inner(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a new connection.
    pub fn open(self: &Arc<Self>, peer: SocketAddr) -> Registration {
        let mut inner = self.inner();
        inner.next += 1;
        let link = Arc::new(Link::new(inner.next, peer, inner.plan_for(None)));
        inner.open.insert(link.id, Arc::clone(&link));
        Registration { links: Arc::clone(self), link }
    }

    /// Notes that a connection has a request for `sandbox`, whose plan it comes under.
    pub fn assign(&self, link: &Link, sandbox: &Arc<str>) {
        if link.assign(sandbox) {
            let plan = self.inner().plan_for(Some(sandbox));
            link.set_faults(plan);
        }
    }

    /// The plan of one sandbox (or of all others, without one).
    pub fn plan(&self, sandbox: Option<&str>) -> Arc<Faults> {
        self.inner().plan_for(sandbox)
    }

    /// Sets or, with `None`, removes a plan; in force at once.
    pub fn set_plan(&self, sandbox: Option<&str>, faults: Option<Faults>) {
        let mut inner = self.inner();
        match (sandbox, faults) {
            (None, faults) => inner.everywhere = Arc::new(faults.unwrap_or_default()),
            (Some(id), Some(faults)) => {
                inner.by_sandbox.insert(id.to_owned(), Arc::new(faults));
            }
            (Some(id), None) => {
                inner.by_sandbox.remove(id);
            }
        }
        inner.enforce();
    }

    /// Closes the connections of one sandbox (or all); gives their number.
    pub fn cut(&self, sandbox: Option<&str>, how: How) -> usize {
        let chosen: Vec<_> =
            self.all().into_iter().filter(|link| sandbox.is_none() || link.sandbox().as_deref() == sandbox).collect();
        for link in &chosen {
            link.cut(how);
        }
        chosen.len()
    }

    /// Every open connection.
    pub fn all(&self) -> Vec<Arc<Link>> {
        self.inner().open.values().cloned().collect()
    }
}
