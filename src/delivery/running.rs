//! The process of an attempt that has not spoken yet.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use tokio::sync::oneshot;

use crate::envd::{Envd, Error, Start, Started};

/// How long a start that nobody waits for any more may take to tell its process, so that this can be killed.
const LATE: Duration = Duration::from_secs(10);

/// Kills that process when the attempt is given up.
pub(super) struct Running {
    envd: Envd,
    /// 0: none.
    pid: Arc<AtomicU32>,
}

impl Running {
    /// No process yet.
    pub(super) fn new(envd: Envd) -> Self {
        Self { envd, pid: Arc::default() }
    }

    /// Starts a process. When the attempt is given up before the daemon has told its id, it is killed as soon as that comes.
    pub(super) async fn start(&self, start: Start) -> Result<Started, Error> {
        let (envd, pid) = (self.envd.clone(), Arc::clone(&self.pid));
        let (mut tell, told) = oneshot::channel();
        tokio::spawn(async move {
            let starting = envd.start(start);
            tokio::pin!(starting);
            let outcome = tokio::select! {
                outcome = &mut starting => outcome,
                () = tell.closed() => match tokio::time::timeout(LATE, starting).await {
                    Ok(outcome) => outcome,
                    Err(_) => return,
                },
            };
            if let Ok(started) = &outcome {
                // Before it is told: from then on the attempt's end kills it.
                pid.store(started.pid, Ordering::Relaxed);
            }
            if tell.send(outcome).is_err() {
                kill(&envd, &pid).await;
            }
        });
        let gone = || Error::Transport { unsent: false, message: "the start was cut off".into() };
        told.await.unwrap_or_else(|_| Err(gone()))
    }

    /// It has ended, or it is wanted from now on: it is not killed any more.
    pub(super) fn forget(&self) {
        self.pid.store(0, Ordering::Relaxed);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if self.pid.load(Ordering::Relaxed) != 0 {
            let (envd, pid) = (self.envd.clone(), Arc::clone(&self.pid));
            runtime.spawn(async move { kill(&envd, &pid).await });
        }
    }
}

/// Kills the process, unless somebody else does already.
async fn kill(envd: &Envd, pid: &AtomicU32) {
    let pid = pid.swap(0, Ordering::Relaxed);
    if pid != 0
        && let Err(error) = envd.kill(pid).await
    {
        tracing::debug!(%error, pid, "an attempt's process could not be killed");
    }
}
