//! The time of the link.

use std::time::{Duration, Instant};

use protocol::Time;

/// Monotonic time since its creation; it stands still while the machine sleeps.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

impl Clock {
    /// Starts at zero.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Now.
    pub fn now(self) -> Time {
        Time::default() + self.0.elapsed()
    }

    /// The instant of a time, for timers.
    pub fn instant(self, time: Time) -> Instant {
        self.0 + Duration::from_micros(time.0)
    }
}
