//! The time of the event loop: monotonic, since the daemon sets the wall clock after a resume.

use protocol::Time;
use rustix::time::{ClockId, clock_gettime};

/// Microseconds of the monotonic clock.
pub fn now() -> Time {
    let time = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Time(seconds * 1_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0) / 1000)
}
