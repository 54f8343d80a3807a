//! Whose turn it is to send.
//!
//! Deficit round robin with two lists: a stream that had nothing to say comes before those that always
//! have, for one quantum; then it queues with them. So a short answer waits for one quantum of each
//! bulk stream at most.

use std::collections::{HashMap, VecDeque};

use crate::{window, wire::StreamId};

/// Smallest and largest share of a turn, in bytes.
const QUANTUM: (usize, usize) = (4 * 1024, 64 * 1024);

#[derive(Debug)]
struct Outgoing {
    sent: u64,
    limit: u64,
    /// Its source has something, or its end, to give.
    ready: bool,
    /// It stands in one of the lists.
    queued: bool,
    deficit: usize,
}

/// The outgoing streams of a link.
#[derive(Debug, Default)]
pub struct Schedule {
    streams: HashMap<StreamId, Outgoing>,
    fresh: VecDeque<StreamId>,
    bulk: VecDeque<StreamId>,
}

/// A stream's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The stream.
    pub stream: StreamId,
    /// How many bytes it may send.
    pub bytes: usize,
}

impl Schedule {
    /// Lets a stream go out, whose first byte is at `offset`.
    pub fn open(&mut self, stream: StreamId, offset: u64) {
        let outgoing = Outgoing { sent: offset, limit: offset + window::BASE, ready: false, queued: false, deficit: 0 };
        self.streams.insert(stream, outgoing);
    }

    /// Forgets a stream; returns how many bytes it had.
    pub fn close(&mut self, stream: StreamId) -> Option<u64> {
        // The lists are cleaned when its turn comes.
        self.streams.remove(&stream).map(|outgoing| outgoing.sent)
    }

    /// The stream has something to send.
    pub fn ready(&mut self, stream: StreamId) {
        if let Some(outgoing) = self.streams.get_mut(&stream) {
            outgoing.ready = true;
            if !outgoing.queued && outgoing.sent < outgoing.limit {
                outgoing.queued = true;
                outgoing.deficit = 0;
                self.fresh.push_back(stream);
            }
        }
    }

    /// The peer takes the stream up to `limit`. A smaller limit than before is an old message.
    pub fn credit(&mut self, stream: StreamId, limit: u64) {
        if let Some(outgoing) = self.streams.get_mut(&stream) {
            outgoing.limit = outgoing.limit.max(limit);
            if outgoing.ready {
                self.ready(stream);
            }
        }
    }

    /// Whether the stream has something to send that could not go yet.
    #[must_use]
    pub fn is_waiting(&self, stream: StreamId) -> bool {
        self.streams.get(&stream).is_some_and(|outgoing| outgoing.ready)
    }

    /// Bytes that the stream has sent.
    #[must_use]
    pub fn sent(&self, stream: StreamId) -> Option<u64> {
        self.streams.get(&stream).map(|outgoing| outgoing.sent)
    }

    /// Whether a stream could send now.
    #[must_use]
    pub fn has_turn(&self) -> bool {
        !self.fresh.is_empty() || !self.bulk.is_empty()
    }

    /// How many bytes the stream may send, whoever's turn it is.
    #[must_use]
    pub fn room(&self, stream: StreamId) -> u64 {
        self.streams.get(&stream).map_or(0, |outgoing| outgoing.limit - outgoing.sent)
    }

    /// The stream sent `bytes` out of turn; `drained` when it has no more for now.
    pub fn took_ahead(&mut self, stream: StreamId, bytes: usize, drained: bool) {
        let Some(outgoing) = self.streams.get_mut(&stream) else { return };
        outgoing.sent += bytes as u64;
        // Where it stands in a list without need, its turn passes.
        outgoing.ready = !drained;
        if !drained {
            self.ready(stream);
        }
    }

    /// Whose turn it is, and for how many bytes, when `in_flight_cap` bytes may be unacknowledged.
    pub fn turn(&mut self, in_flight_cap: u64) -> Option<Turn> {
        let active = (self.fresh.len() + self.bulk.len()).max(1);
        let share = usize::try_from(in_flight_cap).unwrap_or(usize::MAX) / active;
        let quantum = share.clamp(QUANTUM.0, QUANTUM.1);
        loop {
            let stream = self.fresh.front().or(self.bulk.front()).copied()?;
            let Some(outgoing) = self.streams.get_mut(&stream).filter(|o| o.ready && o.sent < o.limit) else {
                self.leave(stream);
                continue;
            };
            if outgoing.deficit == 0 {
                outgoing.deficit = quantum;
            }
            let credit = usize::try_from(outgoing.limit - outgoing.sent).unwrap_or(usize::MAX);
            return Some(Turn { stream, bytes: outgoing.deficit.min(credit) });
        }
    }

    /// The stream whose turn it is sent `bytes`; `drained` when it has no more for now.
    pub fn took(&mut self, stream: StreamId, bytes: usize, drained: bool) {
        let Some(outgoing) = self.streams.get_mut(&stream) else { return self.leave(stream) };
        outgoing.sent += bytes as u64;
        outgoing.deficit = outgoing.deficit.saturating_sub(bytes);
        if drained {
            outgoing.ready = false;
            self.leave(stream);
        } else if outgoing.sent >= outgoing.limit {
            self.leave(stream);
        } else if outgoing.deficit == 0 {
            self.leave(stream);
            if let Some(outgoing) = self.streams.get_mut(&stream) {
                outgoing.queued = true;
                self.bulk.push_back(stream);
            }
        }
    }

    /// Takes the stream at the head off its list.
    fn leave(&mut self, stream: StreamId) {
        let list = if self.fresh.front() == Some(&stream) { &mut self.fresh } else { &mut self.bulk };
        if list.front() == Some(&stream) {
            list.pop_front();
        }
        if let Some(outgoing) = self.streams.get_mut(&stream) {
            outgoing.queued = false;
            outgoing.deficit = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;
    use crate::wire::Channel;

    fn stream(command: u32) -> StreamId {
        StreamId { command, channel: Channel::Stdout }
    }

    #[test]
    fn a_stream_that_was_quiet_goes_before_those_that_always_have_more() {
        let mut schedule = Schedule::default();
        for command in 1..=3 {
            schedule.open(stream(command), 0);
            schedule.credit(stream(command), u64::MAX);
            schedule.ready(stream(command));
        }
        for _ in 0..3 {
            let turn = schedule.turn(1 << 20).unwrap();
            schedule.took(turn.stream, turn.bytes, false);
        }
        schedule.open(stream(9), 0);
        schedule.ready(stream(9));
        assert_eq!(schedule.turn(1 << 20).unwrap().stream, stream(9));
        schedule.took(stream(9), 10, true);
        assert_eq!(schedule.turn(1 << 20).unwrap().stream, stream(1));
    }

    #[test]
    fn bulk_streams_share_equally() {
        let mut schedule = Schedule::default();
        for command in 1..=4 {
            schedule.open(stream(command), 0);
            schedule.credit(stream(command), u64::MAX);
            schedule.ready(stream(command));
        }
        for _ in 0..400 {
            let turn = schedule.turn(64 * 1024).unwrap();
            schedule.took(turn.stream, turn.bytes.min(1000), false);
        }
        let sent: Vec<_> = (1..=4).map(|command| schedule.sent(stream(command)).unwrap()).collect();
        assert!(sent.iter().max().unwrap() - sent.iter().min().unwrap() <= 16 * 1024 + 1000, "{sent:?}");
    }

    #[test]
    fn a_stream_without_credit_has_no_turn_until_it_gets_some() {
        let mut schedule = Schedule::default();
        schedule.open(stream(1), 0);
        schedule.ready(stream(1));
        let turn = schedule.turn(1 << 20).unwrap();
        assert_eq!(turn.bytes as u64, window::BASE);
        schedule.took(stream(1), turn.bytes, false);
        assert_eq!(schedule.turn(1 << 20), None);
        assert!(schedule.is_waiting(stream(1)));
        schedule.credit(stream(1), window::BASE + 7);
        assert_eq!(schedule.turn(1 << 20).unwrap().bytes, 7);
    }

    #[test]
    fn what_went_ahead_counts_against_the_credit_and_leaves_a_turn_only_to_what_is_left() {
        let mut schedule = Schedule::default();
        for command in 1..=2 {
            schedule.open(stream(command), 0);
            schedule.ready(stream(command));
        }
        schedule.took_ahead(stream(1), 100, true);
        assert_eq!(schedule.room(stream(1)), window::BASE - 100);
        assert_eq!(schedule.turn(1 << 20).unwrap().stream, stream(2));
        schedule.took(stream(2), 1, true);
        assert_eq!(schedule.turn(1 << 20), None);
        schedule.took_ahead(stream(1), 100, false);
        let left = schedule.turn(1 << 20).unwrap();
        assert_eq!((left.stream, left.bytes as u64), (stream(1), window::BASE - 200));
        schedule.took_ahead(stream(1), left.bytes, false);
        assert_eq!((schedule.turn(1 << 20), schedule.room(stream(1))), (None, 0));
        schedule.credit(stream(1), window::BASE + 7);
        assert_eq!(schedule.turn(1 << 20).unwrap().bytes, 7);
    }

    #[test]
    fn a_closed_stream_s_turn_passes() {
        let mut schedule = Schedule::default();
        schedule.open(stream(1), 0);
        schedule.open(stream(2), 0);
        schedule.ready(stream(1));
        schedule.ready(stream(2));
        schedule.close(stream(1));
        assert_eq!(schedule.turn(1 << 20).unwrap().stream, stream(2));
    }
}
