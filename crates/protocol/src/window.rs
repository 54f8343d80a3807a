//! Credit: how much of a stream its consumer will take.
//!
//! Each incoming stream is guaranteed [`BASE`] bytes. A stream whose sender uses all that it has while
//! its consumer keeps up gets more, at most [`MAX`], from one budget that all streams share.

use std::collections::HashMap;

use crate::wire::StreamId;

/// What each stream may always send ahead of its consumer, in bytes. Both ends know it.
pub const BASE: u64 = 64 * 1024;
/// The most that one stream may send ahead of its consumer, in bytes.
pub const MAX: u64 = 4 * 1024 * 1024;
/// What all streams together may have beyond their base, in bytes.
pub const BUDGET: u64 = 64 * 1024 * 1024;

#[derive(Debug)]
struct Incoming {
    received: u64,
    consumed: u64,
    limit: u64,
    window: u64,
}

/// The incoming streams of a link.
#[derive(Debug, Default)]
pub struct Windows {
    streams: HashMap<StreamId, Incoming>,
    lent: u64,
}

/// A sender went beyond its credit, or its stream's end contradicts what came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overrun;

impl Windows {
    /// Lets a stream come in, whose first byte will be at `offset`.
    pub fn open(&mut self, stream: StreamId, offset: u64) {
        self.streams
            .insert(stream, Incoming { received: offset, consumed: offset, limit: offset + BASE, window: BASE });
    }

    /// Lets a stream go on at `offset` that another consumer had before: the sender may be as far ahead as that one let it.
    pub fn adopt(&mut self, stream: StreamId, offset: u64) -> u64 {
        let limit = offset.saturating_add(MAX);
        self.lent += MAX - BASE;
        self.streams.insert(stream, Incoming { received: offset, consumed: offset, limit, window: MAX });
        limit
    }

    /// Takes no more of a stream.
    pub fn close(&mut self, stream: StreamId) {
        if let Some(gone) = self.streams.remove(&stream) {
            self.lent -= gone.window - BASE;
        }
    }

    /// Counts bytes that came. False when the stream is not open: they are to be dropped.
    pub fn receive(&mut self, stream: StreamId, bytes: u64) -> Result<bool, Overrun> {
        let Some(incoming) = self.streams.get_mut(&stream) else { return Ok(false) };
        incoming.received += bytes;
        if incoming.received > incoming.limit { Err(Overrun) } else { Ok(true) }
    }

    /// Closes a stream at its end. False when it was not open.
    pub fn end(&mut self, stream: StreamId, offset: u64) -> Result<bool, Overrun> {
        let Some(incoming) = self.streams.get(&stream) else { return Ok(false) };
        if incoming.received != offset {
            return Err(Overrun);
        }
        self.close(stream);
        Ok(true)
    }

    /// Counts bytes that the consumer took; returns the stream's new limit when the sender should hear of it.
    pub fn consume(&mut self, stream: StreamId, bytes: u64) -> Option<u64> {
        let incoming = self.streams.get_mut(&stream)?;
        incoming.consumed = incoming.received.min(incoming.consumed + bytes);
        let room = incoming.limit - incoming.received;
        let kept_up = incoming.received - incoming.consumed < incoming.window / 2;
        if room <= incoming.window / 2 && kept_up {
            let more = incoming.window.min(MAX - incoming.window).min(BUDGET - self.lent);
            incoming.window += more;
            self.lent += more;
        }
        let limit = incoming.consumed + incoming.window;
        // By halves: a credit for each read would cost a message for each.
        if limit < incoming.limit + incoming.window / 2 {
            return None;
        }
        incoming.limit = limit;
        Some(limit)
    }

    /// After how many more consumed bytes a sender should hear of it: counting them earlier changes nothing. `None` when the stream is
    /// not open.
    pub fn due(&self, stream: StreamId) -> Option<u64> {
        let Incoming { consumed, limit, window, .. } = self.streams.get(&stream)?;
        Some((limit - window / 2).saturating_sub(*consumed))
    }

    /// The limits that a new connection must be told of.
    pub fn limits(&self) -> impl Iterator<Item = (StreamId, u64)> + '_ {
        self.streams.iter().map(|(stream, incoming)| (*stream, incoming.limit))
    }

    /// Bytes that may be in memory at most.
    #[must_use]
    pub fn bound(&self) -> u64 {
        self.lent + self.streams.len() as u64 * BASE
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
    fn a_consumer_that_keeps_up_gets_a_larger_window_and_a_stalled_one_does_not() {
        let mut windows = Windows::default();
        windows.open(stream(1), 0);
        let (mut limit, mut sent) = (BASE, 0);
        for _ in 0..100 {
            let all = limit - sent;
            assert!(windows.receive(stream(1), all).unwrap());
            sent += all;
            limit = windows.consume(stream(1), all).unwrap_or(limit);
        }
        assert_eq!(limit - sent, MAX);
        windows.receive(stream(1), MAX).unwrap();
        assert_eq!(windows.consume(stream(1), 1), None);
        assert_eq!(windows.receive(stream(1), 1), Err(Overrun));
    }

    #[test]
    fn what_is_consumed_before_it_is_due_needs_no_word_and_what_is_due_gets_one() {
        let mut windows = Windows::default();
        windows.open(stream(1), 0);
        let (mut limit, mut sent) = (BASE, 0);
        for turn in 0..40 {
            windows.receive(stream(1), limit - sent).unwrap();
            sent = limit;
            let due = windows.due(stream(1)).unwrap();
            assert!(due > 0 && due <= MAX / 2, "turn {turn}: {due}");
            assert_eq!(windows.consume(stream(1), due - 1), None, "turn {turn}");
            assert_eq!(windows.due(stream(1)), Some(1));
            limit = windows.consume(stream(1), limit).unwrap();
        }
        assert_eq!(limit - sent, MAX, "a reader that is only told of when it matters gets the large window too");
    }

    #[test]
    fn the_budget_bounds_all_streams_together_and_comes_back() {
        let mut windows = Windows::default();
        for command in 1..=100 {
            windows.open(stream(command), 0);
            let (mut limit, mut sent) = (BASE, 0);
            for _ in 0..20 {
                let all = limit - sent;
                windows.receive(stream(command), all).unwrap();
                sent += all;
                limit = windows.consume(stream(command), all).unwrap_or(limit);
            }
        }
        assert!(windows.bound() <= BUDGET + 100 * BASE, "{}", windows.bound());
        for command in 1..=100 {
            windows.close(stream(command));
        }
        assert_eq!(windows.bound(), 0);
    }

    #[test]
    fn a_stream_s_end_must_agree_with_what_came() {
        let mut windows = Windows::default();
        windows.open(stream(1), 0);
        windows.receive(stream(1), 5).unwrap();
        assert_eq!(windows.end(stream(1), 6), Err(Overrun));
        assert_eq!(windows.end(stream(1), 5), Ok(true));
        assert_eq!(windows.end(stream(1), 5), Ok(false));
    }
}
