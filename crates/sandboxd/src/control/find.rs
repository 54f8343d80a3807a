//! Sandboxes named in a path.

use std::sync::Arc;

use super::{ApiError, Control};
use crate::sandboxes::{Sandbox, id};

impl Control {
    /// The sandbox that a client names.
    ///
    /// # Errors
    /// 400 for what cannot be an id, 404 when there is no such sandbox.
    pub fn find(&self, given: &str) -> Result<Arc<Sandbox>, ApiError> {
        let id = id::parse(given).ok_or_else(|| ApiError::bad(format!("invalid sandbox ID \"{given}\"")))?;
        Ok(self.sandboxes.need(id)?)
    }

    /// Checks a timeout in seconds.
    ///
    /// # Errors
    /// 400 when it is longer than a sandbox may live.
    pub fn timeout(&self, seconds: u64) -> Result<u64, ApiError> {
        if seconds > self.longest {
            return Err(ApiError::bad(format!("timeout cannot be greater than {} seconds", self.longest)));
        }
        Ok(seconds)
    }
}
