//! How long the supervisor stays without a host (C81).

use std::time::Duration;

use protocol::Time;

/// The longest time that one look counts: while a machine slept or a sandbox was paused, nobody was silent.
const TICK: Duration = Duration::from_secs(5);

/// Counts the host's silence.
#[derive(Debug)]
pub struct OrphanTimeout {
    silent: Duration,
    last: Time,
}

impl OrphanTimeout {
    /// Nothing counted.
    pub fn new(now: Time) -> Self {
        Self { silent: Duration::ZERO, last: now }
    }

    /// Looks at `now`; true when the silence has lasted `limit` (zero is for ever).
    pub fn advance(&mut self, now: Time, attached: bool, limit: Duration) -> bool {
        let elapsed = now.since(self.last).min(TICK);
        self.last = now;
        self.silent = if attached { Duration::ZERO } else { self.silent + elapsed };
        !limit.is_zero() && self.silent >= limit
    }

    /// When to look again while no host is there.
    pub fn wakes(&self, limit: Duration) -> Option<Time> {
        (!limit.is_zero()).then(|| self.last + limit.saturating_sub(self.silent).min(TICK))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(12);

    fn at(seconds: u64) -> Time {
        Time(seconds * 1_000_000)
    }

    #[test]
    fn c81_silence_counts_by_ticks_and_a_host_resets_it() {
        let mut timeout = OrphanTimeout::new(at(0));
        assert!(!timeout.advance(at(5), false, LIMIT));
        assert!(!timeout.advance(at(10), true, LIMIT));
        assert!(!timeout.advance(at(15), false, LIMIT));
        assert!(!timeout.advance(at(20), false, LIMIT));
        assert_eq!(timeout.wakes(LIMIT), Some(at(22)));
        assert!(timeout.advance(at(22), false, LIMIT));
    }

    #[test]
    fn c81_a_pause_of_the_sandbox_does_not_count() {
        let mut timeout = OrphanTimeout::new(at(0));
        assert!(!timeout.advance(at(100_000), false, LIMIT));
        assert!(!timeout.advance(at(200_000), false, LIMIT));
    }

    #[test]
    fn c81_zero_is_for_ever() {
        let mut timeout = OrphanTimeout::new(at(0));
        for second in 0..1000 {
            assert!(!timeout.advance(at(second * 5), false, Duration::ZERO));
        }
    }
}
