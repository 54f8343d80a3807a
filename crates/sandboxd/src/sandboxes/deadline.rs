//! Deadlines act.

use std::sync::Arc;

use chrono::Utc;

use super::{Phase, Sandbox, Sandboxes};

/// Ends (or pauses) a sandbox when its time is over, however often the time is moved; returns when it has ended.
pub async fn watch(all: Arc<Sandboxes>, sandbox: Arc<Sandbox>) {
    loop {
        let moved = sandbox.deadline_moved.notified();
        let (phase, end_at) = (sandbox.phase(), sandbox.end_at());
        let left = (end_at - Utc::now()).to_std().unwrap_or_default();
        tokio::select! {
            () = tokio::time::sleep(left), if phase == Phase::Running => {
                // Moved in this very moment?
                if sandbox.end_at() > Utc::now() {
                    continue;
                }
                expire(&all, &sandbox).await;
            }
            () = moved => {}
            () = sandbox.ended() => return,
        }
    }
}

async fn expire(all: &Arc<Sandboxes>, sandbox: &Arc<Sandbox>) {
    if sandbox.spec.auto_pause {
        match all.pause(&sandbox.id).await {
            Ok(()) => return,
            Err(error) => tracing::warn!(%error, sandbox = %sandbox.id, "cannot pause at the deadline, ending instead"),
        }
    }
    // Already ended is as good.
    let _ = all.kill(&sandbox.id).await;
}
