//! The process of an attempt that has not spoken yet.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::envd::Envd;

/// Kills that process when the attempt is given up.
pub(super) struct Running {
    envd: Envd,
    /// 0: none.
    pid: AtomicU32,
}

impl Running {
    /// No process yet.
    pub(super) fn new(envd: Envd) -> Self {
        Self { envd, pid: AtomicU32::new(0) }
    }

    /// A process was started.
    pub(super) fn began(&self, pid: u32) {
        self.pid.store(pid, Ordering::Relaxed);
    }

    /// It has ended, or it is wanted from now on: it is not killed any more.
    pub(super) fn forget(&self) {
        self.pid.store(0, Ordering::Relaxed);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let (pid, envd) = (self.pid.load(Ordering::Relaxed), self.envd.clone());
        if let (true, Ok(runtime)) = (pid != 0, tokio::runtime::Handle::try_current()) {
            runtime.spawn(async move {
                if let Err(error) = envd.kill(pid).await {
                    tracing::debug!(%error, pid, "an attempt's process could not be killed");
                }
            });
        }
    }
}
