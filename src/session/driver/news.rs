//! Readers in JavaScript that are to be woken. A wake costs more than a piece of output does, so what comes in one burst is told
//! together; and where bursts follow each other closely, several of them.

use std::{sync::Arc, time::Duration};

use protocol::{Time, control::OutputChannel};

use crate::session::command::Command;

/// As much as one read takes: waiting for more would only keep a reader idle.
const ENOUGH: usize = 256 * 1024;

/// How long a reader of a fast stream waits at most for that much.
const PATIENCE: Duration = Duration::from_millis(1);

/// Bytes in a millisecond, from which on a stream is fast: it brings enough in little more than the time that a reader waits.
const FAST: u64 = 128 * 1024;

/// See the module.
#[derive(Debug, Default)]
pub struct News {
    readers: Vec<(Arc<Command>, OutputChannel)>,
    bytes: usize,
    /// When the first of the readers has waited enough.
    due: Time,
    told: Time,
    fast: bool,
}

impl News {
    /// So many bytes came; `waits` says that their reader does not know of any.
    pub fn add(&mut self, now: Time, command: &Arc<Command>, channel: OutputChannel, bytes: usize, waits: bool) {
        if self.readers.is_empty() {
            let fast = self.fast && now.since(self.told) < PATIENCE;
            self.due = if fast { now + PATIENCE } else { now };
        }
        if waits {
            self.readers.push((Arc::clone(command), channel));
        }
        if !self.readers.is_empty() {
            self.bytes += bytes;
        }
    }

    /// Whether there is too much to keep it, or it was kept too long.
    pub fn is_due(&self, now: Time) -> bool {
        self.bytes >= ENOUGH || now >= self.due + PATIENCE
    }

    /// When the readers are to be woken even if nothing more comes; `None` while there are none.
    pub fn due_at(&self) -> Option<Time> {
        (!self.readers.is_empty()).then_some(self.due)
    }

    /// Wakes the readers.
    pub fn tell(&mut self, now: Time) {
        if self.readers.is_empty() {
            return;
        }
        let micros = u64::try_from(now.since(self.told).as_micros()).unwrap_or(u64::MAX);
        self.fast = self.bytes as u64 >= FAST.saturating_mul(micros) / 1000;
        self.told = now;
        self.bytes = 0;
        for (command, channel) in self.readers.drain(..) {
            command.announce(channel);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{output::Mode, wake::Wakes};

    const STDOUT: OutputChannel = OutputChannel::Stdout;

    fn at(micros: u64) -> Time {
        Time(micros)
    }

    #[test]
    fn a_reader_of_a_fast_stream_waits_a_little_for_more_and_one_of_a_slow_stream_does_not() {
        let modes = [Some(Mode::Raw), None];
        let command = Command::new(Arc::new(Wakes::default()), "x".into(), false, modes, None);
        let mut news = News::default();
        assert_eq!(news.due_at(), None);
        news.add(at(100_000), &command, STDOUT, 1000, true);
        assert_eq!((news.is_due(at(100_000)), news.due_at()), (false, Some(at(100_000))), "at once");
        news.tell(at(100_000));
        news.add(at(100_200), &command, STDOUT, 100_000, true);
        news.tell(at(100_200));
        news.add(at(100_300), &command, STDOUT, 100_000, true);
        assert_eq!(
            (news.is_due(at(100_300)), news.due_at()),
            (false, Some(at(101_300))),
            "500 MB/s: more is worth waiting for"
        );
        news.add(at(100_400), &command, STDOUT, 200_000, false);
        assert!(news.is_due(at(100_400)), "enough came");
        news.tell(at(100_400));
        news.add(at(100_500), &command, STDOUT, 100, true);
        news.tell(at(101_500));
        news.add(at(101_600), &command, STDOUT, 100, true);
        assert_eq!(news.due_at(), Some(at(101_600)), "it became slow");
        assert!(news.is_due(at(102_600)), "whatever else happens");
        news.tell(at(102_600));
        news.add(at(102_610), &command, STDOUT, 100_000, true);
        news.tell(at(102_620));
        news.add(at(900_000), &command, STDOUT, 1, true);
        assert_eq!(news.due_at(), Some(at(900_000)), "a silence ends it");
    }
}
