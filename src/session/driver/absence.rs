//! How long there has been no connection, in a time that stands still while the machine sleeps or the
//! sandbox is paused.

use std::time::Duration;

use protocol::Time;

use super::TICK;

/// At least this many attempts must have failed before a sandbox is given up.
pub const ATTEMPTS: u32 = 3;
/// The pauses between attempts grow from the first to the last of these.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));

/// A time without connection.
#[derive(Debug)]
pub struct Absence {
    counted: Duration,
    looked: Time,
    attempts: u32,
    /// The sandbox is paused: the time does not count.
    pub paused: bool,
    /// Why the last attempt failed, or the connection broke.
    pub reason: String,
}

impl Absence {
    /// It begins.
    pub fn new(now: Time) -> Self {
        Self {
            counted: Duration::ZERO,
            looked: now,
            attempts: 0,
            paused: false,
            reason: "it was never reached".to_owned(),
        }
    }

    /// An attempt failed. Returns the pause before the next one.
    pub fn failed(&mut self, reason: String) -> Duration {
        self.reason = reason;
        self.attempts += 1;
        BACKOFF.0.saturating_mul(1 << (self.attempts - 1).min(16)).min(BACKOFF.1)
    }

    /// How many attempts failed.
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Counts the time, and says whether it has been too long.
    pub fn tick(&mut self, now: Time, bound: Duration) -> bool {
        let passed = now.since(self.looked).min(TICK);
        self.looked = now;
        if !self.paused {
            self.counted += passed;
        }
        self.counted >= bound && self.attempts >= ATTEMPTS
    }

    /// When to look again.
    pub fn next_tick(&self, bound: Duration) -> Time {
        let left = bound.saturating_sub(self.counted);
        let left = if left.is_zero() { TICK } else { left };
        self.looked + left.min(TICK)
    }

    /// How long it has been.
    pub fn counted(&self) -> Duration {
        self.counted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUND: Duration = Duration::from_secs(60);

    fn at(seconds: u64) -> Time {
        Time(seconds * 1_000_000)
    }

    #[test]
    fn c82_a_sandbox_is_given_up_after_the_bound_and_three_attempts() {
        let mut absence = Absence::new(at(0));
        for second in 1..=120 {
            assert!(!absence.tick(at(second), BOUND), "no attempt failed yet");
        }
        absence.failed("a".into());
        absence.failed("b".into());
        assert!(!absence.tick(at(121), BOUND));
        absence.failed("c".into());
        assert!(absence.tick(at(122), BOUND));
        assert_eq!(absence.reason, "c");
    }

    #[test]
    fn c82_sleep_and_pause_do_not_count() {
        let mut absence = Absence::new(at(0));
        for _ in 0..3 {
            absence.failed("x".into());
        }
        assert!(!absence.tick(at(3600), BOUND), "the machine slept for an hour");
        absence.paused = true;
        for second in (3600..3700).step_by(5) {
            assert!(!absence.tick(at(second), BOUND));
        }
        assert_eq!(absence.counted(), TICK);
    }

    #[test]
    fn pauses_between_attempts_grow_to_a_bound() {
        let mut absence = Absence::new(at(0));
        assert_eq!(absence.failed("x".into()), Duration::from_millis(50));
        assert_eq!(absence.failed("x".into()), Duration::from_millis(100));
        for _ in 0..100 {
            absence.failed("x".into());
        }
        assert_eq!(absence.failed("x".into()), Duration::from_secs(5));
    }
}
