//! Changes in the life of a sandbox.

use std::sync::Arc;

use super::registry::now;
use super::sandbox::seconds;
use super::{Error, Phase, Sandbox, Sandboxes};

impl Sandboxes {
    /// Ends a sandbox. New requests find it dead at once, open ones are reset; returns when its processes are gone.
    ///
    /// # Errors
    /// [`Error::NotFound`] when there is none, or another call is ending it.
    pub async fn kill(&self, id: &str) -> Result<(), Error> {
        let sandbox = self.by_id().remove(id).ok_or_else(|| Error::NotFound(id.to_owned()))?;
        sandbox.enter(Phase::Ended);
        sandbox.streams.reset();
        let boxed = sandbox.boxed.write().await.take();
        if let Some(boxed) = boxed {
            boxed.end().await;
        }
        tracing::info!(sandbox = %sandbox.id, "ended");
        Ok(())
    }

    /// Ends every sandbox.
    pub async fn end(&self) {
        let ids: Vec<_> = self.by_id().keys().cloned().collect();
        futures_util::future::join_all(ids.iter().map(|id| self.kill(id))).await;
    }

    /// Stops every process of a sandbox; open requests are reset.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Paused`], [`Error::Box`].
    pub async fn pause(&self, id: &str) -> Result<(), Error> {
        let sandbox = self.need(id)?;
        let boxed = sandbox.boxed.write().await;
        let boxed = boxed.as_ref().ok_or_else(|| Error::NotFound(id.to_owned()))?;
        if sandbox.phase() == Phase::Paused {
            return Err(Error::Paused(id.to_owned()));
        }
        sandbox.enter(Phase::Paused);
        sandbox.streams.reset();
        if let Err(error) = boxed.freeze().await {
            sandbox.enter(Phase::Running);
            return Err(error.into());
        }
        sandbox.state().end_at = now();
        sandbox.deadline_moved.notify_one();
        Ok(())
    }

    /// Wakes a paused sandbox and gives it `timeout` seconds (its last timeout if absent); true if it was paused.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Box`].
    pub async fn resume(&self, id: &str, timeout: Option<u64>) -> Result<bool, Error> {
        let sandbox = self.need(id)?;
        let boxed = sandbox.boxed.write().await;
        let boxed = boxed.as_ref().ok_or_else(|| Error::NotFound(id.to_owned()))?;
        if sandbox.phase() != Phase::Paused {
            return Ok(false);
        }
        boxed.thaw().await?;
        let timeout = timeout.unwrap_or_else(|| sandbox.state().timeout);
        sandbox.set_deadline(timeout);
        sandbox.enter(Phase::Running);
        sandbox.deadline_moved.notify_one();
        Ok(true)
    }
}

impl Sandbox {
    /// Sets the deadline to `timeout` seconds from now, which may be sooner; 0 is now.
    pub fn set_deadline(&self, timeout: u64) {
        {
            let mut state = self.state();
            state.end_at = now() + seconds(timeout);
            state.timeout = timeout;
        }
        self.deadline_moved.notify_one();
    }

    /// Moves the deadline to `timeout` seconds from now, unless it is later already: then it stays the same instant.
    pub fn extend_deadline(self: &Arc<Self>, timeout: u64) {
        {
            let mut state = self.state();
            let wanted = now() + seconds(timeout);
            if wanted > state.end_at {
                state.end_at = wanted;
                state.timeout = timeout;
            }
        }
        self.deadline_moved.notify_one();
    }
}
