//! The deadline of a stream.

use std::{future, time::Duration};

use tokio::time::{Instant, sleep_until};

use super::{Code, Error};

/// When a stream has to end; `None` is never.
#[derive(Clone, Copy, Debug)]
pub struct Deadline(Option<Instant>);

impl Deadline {
    /// A deadline from now on.
    pub fn after(timeout: Option<Duration>) -> Self {
        Self(timeout.map(|timeout| Instant::now() + timeout))
    }

    /// Completes when the deadline passes.
    pub async fn passed(self) -> Error {
        match self.0 {
            // A timer rounds up to its next millisecond.
            Some(instant) if instant <= Instant::now() => {}
            Some(instant) => sleep_until(instant).await,
            None => future::pending().await,
        }
        Error::new(Code::DeadlineExceeded, "context deadline exceeded")
    }
}
