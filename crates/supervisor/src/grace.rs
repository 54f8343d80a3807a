//! How long somebody may hold a finished command's output (C22).

use std::time::Duration;

use protocol::Time;

/// Counts the time in which a stream could be read. A slow or cut line is no holder: time does not count while the stream
/// has bytes that nobody takes, unless it keeps moving and what moves can only be a holder's.
#[derive(Debug, Default)]
pub struct Grace {
    counted: Duration,
    counting: bool,
    last: Option<Time>,
    /// Offset behind which the command itself, having ended, cannot have written.
    own_end: Option<u64>,
    seen: u64,
}

/// What a stream is doing.
pub struct Observation {
    /// Bytes read from it so far.
    pub read: u64,
    /// Bytes that wait in its pipe.
    pub waiting_in_pipe: u64,
    /// Whether it has something that the host does not take now.
    pub held_up: bool,
}

impl Grace {
    /// Looks at the stream at `now`; true when `grace` has been used up.
    pub fn advance(&mut self, now: Time, stream: &Observation, grace: Duration) -> bool {
        let own_end = *self.own_end.get_or_insert(stream.read + stream.waiting_in_pipe);
        if let Some(last) = self.last
            && self.counting
        {
            self.counted += now.since(last);
        }
        let moves = stream.read > self.seen && stream.read > own_end;
        self.counting = !stream.held_up || moves;
        self.seen = stream.read;
        self.last = Some(now);
        self.counted >= grace
    }

    /// When it will be used up if nothing changes.
    pub fn expires(&self, grace: Duration) -> Option<Time> {
        let last = self.last.filter(|_| self.counting)?;
        Some(last + grace.saturating_sub(self.counted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRACE: Duration = Duration::from_millis(100);

    fn at(milliseconds: u64) -> Time {
        Time(milliseconds * 1000)
    }

    fn stream(read: u64, held_up: bool) -> Observation {
        Observation { read, waiting_in_pipe: 0, held_up }
    }

    #[test]
    fn c22_an_idle_stream_uses_the_grace_up() {
        let mut grace = Grace::default();
        assert!(!grace.advance(at(0), &stream(0, false), GRACE));
        assert_eq!(grace.expires(GRACE), Some(at(100)));
        assert!(!grace.advance(at(99), &stream(0, false), GRACE));
        assert!(grace.advance(at(100), &stream(0, false), GRACE));
    }

    #[test]
    fn c22_time_in_which_the_host_takes_nothing_does_not_count() {
        let mut grace = Grace::default();
        grace.advance(at(0), &stream(0, true), GRACE);
        assert_eq!(grace.expires(GRACE), None);
        assert!(!grace.advance(at(10_000), &stream(0, false), GRACE));
        assert!(grace.advance(at(10_100), &stream(0, false), GRACE));
    }

    #[test]
    fn c22_a_holder_that_writes_for_ever_uses_the_grace_up_on_a_slow_line_too() {
        let mut grace = Grace::default();
        let mut ended = None;
        for step in 0..50 {
            if grace.advance(at(step * 10), &stream(step * 1000, true), GRACE) {
                ended = Some(step);
                break;
            }
        }
        assert!(ended.is_some_and(|step| (10..=12).contains(&step)), "{ended:?}");
    }

    #[test]
    fn c22_a_command_s_own_last_bytes_on_a_slow_line_do_not_count() {
        let mut grace = Grace::default();
        let mut own = stream(0, true);
        own.waiting_in_pipe = 60_000;
        grace.advance(at(0), &own, GRACE);
        for step in 1..=60 {
            assert!(!grace.advance(at(step * 100), &stream(step * 1000, true), GRACE));
        }
    }
}
