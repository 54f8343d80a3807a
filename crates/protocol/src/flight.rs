//! What was sent and is not acknowledged, and how much of that there may be.
//!
//! Acknowledgements are the only way to notice loss, so everything numbered is kept until then. How much
//! may be under way follows the measured rate and delay: enough to fill the line, little enough that a
//! short answer does not queue behind megabytes on a slow one. The estimate is the one of BBR: the best
//! delivery rate of late times the smallest delay, with some slack for what batches acknowledgements.

use std::{collections::VecDeque, time::Duration};

use bytes::Bytes;

use crate::time::Time;

/// What may always be under way, in bytes.
pub const CAP_MIN: u64 = 64 * 1024;
/// The most that may be under way, and so the most that is kept, in bytes.
pub const CAP_MAX: u64 = 8 * 1024 * 1024;
/// What control messages may have beyond the cap, in bytes.
pub const CONTROL_RESERVE: u64 = 1024 * 1024;

/// Delay that is not the line's: scheduling, delayed acknowledgements, the daemon's own batches.
const SLACK: Duration = Duration::from_millis(10);
/// How long a best rate counts at least.
const RATE_MEMORY: Duration = Duration::from_millis(500);

#[derive(Debug)]
struct Chunk {
    offset: u64,
    bytes: Bytes,
    sent: Option<Sent>,
    /// Sent on a connection that was given up, which may still refer to its memory: that must not be filled again.
    outlived: bool,
    /// Bytes that it takes on its way, and how many of those are acknowledged.
    load: u64,
    delivered: u64,
}

impl Chunk {
    fn end(&self) -> u64 {
        self.offset + self.bytes.len() as u64
    }

    /// It takes `load` bytes on its way, of which the peer has those before `acked`, maybe from an earlier attachment; gives the rest.
    fn weigh(&mut self, load: u64, acked: u64) -> u64 {
        self.load = load;
        self.delivered = 0;
        load - self.deliver(acked)
    }

    /// The peer has everything before `offset`; gives how many bytes of the way that are news about.
    fn deliver(&mut self, offset: u64) -> u64 {
        let part = offset.clamp(self.offset, self.end()) - self.offset;
        let delivered = self.load * part / (self.bytes.len() as u64).max(1);
        let news = delivered.saturating_sub(self.delivered);
        self.delivered += news;
        news
    }
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Time,
    delivered: u64,
    delivered_at: Time,
    /// The sender had nothing more to send, so the rate seen is its own, not the line's.
    short: bool,
}

/// The sending half of a link.
#[derive(Debug)]
pub struct Flight {
    chunks: VecDeque<Chunk>,
    /// Chunks before this one were sent on the present attachment.
    cursor: usize,
    next: u64,
    acked: u64,
    /// Everything before was sent on the present attachment.
    sent: u64,
    /// Bytes on the way: those of frames, or fewer where they are packed.
    load: u64,
    floor: u64,
    rate: Rate,
    /// Buffers of acknowledged chunks, to be filled again: fresh ones cost a page fault for every 4 KiB.
    spare: Vec<Vec<u8>>,
}

/// Spare buffers are kept from this size on, and so many.
const SPARE: (usize, usize) = (128 * 1024, 16);

/// An acknowledgement of what was never sent on this attachment, or an offset within a frame's past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadOffset;

impl Flight {
    /// A flight whose next byte is at `offset`.
    #[must_use]
    pub fn new(offset: u64) -> Self {
        Self {
            chunks: VecDeque::new(),
            cursor: 0,
            next: offset,
            acked: offset,
            sent: offset,
            load: 0,
            floor: CAP_MIN,
            rate: Rate::default(),
            spare: Vec::new(),
        }
    }

    /// An empty buffer; with memory, when one was kept.
    pub fn buffer(&mut self) -> Vec<u8> {
        self.spare.pop().unwrap_or_default()
    }

    /// Kept buffers.
    #[cfg(test)]
    pub fn spare(&self) -> usize {
        self.spare.len()
    }

    /// Lets the memory of kept buffers go.
    pub fn drop_buffers(&mut self) {
        self.spare.clear();
    }

    /// Lets at least `bytes` be under way: what a peer that acknowledges by so many needs.
    pub fn set_floor(&mut self, bytes: u64) {
        self.floor = bytes.clamp(CAP_MIN, CAP_MAX);
    }

    /// Offset of the next new byte.
    #[must_use]
    pub fn next_offset(&self) -> u64 {
        self.next
    }

    /// Everything before is in the peer's memory.
    #[must_use]
    pub fn acked(&self) -> u64 {
        self.acked
    }

    /// Bytes under way on this attachment.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.sent - self.acked.min(self.sent)
    }

    /// Whether `bytes` more may be under way, with `reserve` beyond the cap. The line is asked about the bytes that it will carry if these
    /// shrink as the last ones did, memory about those that are kept.
    #[must_use]
    pub fn has_room(&self, bytes: usize, reserve: u64) -> bool {
        let more = bytes as u64;
        let (plain, load) = self.shrinks();
        self.load + more * load / plain < self.cap() + reserve && self.in_flight() + more < CAP_MAX + reserve
    }

    /// How many bytes may be on the way.
    #[must_use]
    pub fn cap(&self) -> u64 {
        self.rate.cap().clamp(self.floor, CAP_MAX)
    }

    /// How many bytes of frames that may be, if they shrink as the last ones did.
    #[must_use]
    pub fn plain_cap(&self) -> u64 {
        let (plain, load) = self.shrinks();
        (self.cap().saturating_mul(plain) / load).min(CAP_MAX)
    }

    /// How many bytes of frames were how many on the way, of what was sent last; neither is 0.
    fn shrinks(&self) -> (u64, u64) {
        let last = self.cursor.checked_sub(1).and_then(|last| self.chunks.get(last));
        last.map_or((1, 1), |chunk| (chunk.bytes.len() as u64, chunk.load.max(1)))
    }

    /// Smallest delay seen on this attachment.
    #[must_use]
    pub fn min_rtt(&self) -> Option<Duration> {
        self.rate.min_rtt
    }

    /// Whether something must be sent again before anything new.
    #[must_use]
    pub fn has_backlog(&self) -> bool {
        self.cursor < self.chunks.len()
    }

    /// Numbers new frames. Call only without backlog; they are sent at once.
    pub fn push(&mut self, now: Time, bytes: Bytes, short: bool) -> u64 {
        let offset = self.next;
        self.next += bytes.len() as u64;
        self.sent = self.next;
        let sent = Some(self.rate.sent(now, short));
        let load = bytes.len() as u64;
        self.load += load;
        self.chunks.push_back(Chunk { offset, bytes, sent, outlived: false, load, delivered: 0 });
        self.cursor = self.chunks.len();
        offset
    }

    /// What to send again next, with its offset.
    pub fn resend(&mut self, now: Time) -> Option<(u64, Bytes)> {
        let stamp = self.rate.sent(now, false);
        let chunk = self.chunks.get_mut(self.cursor)?;
        self.cursor += 1;
        chunk.sent = Some(stamp);
        self.load += chunk.weigh(chunk.bytes.len() as u64, self.acked);
        self.sent = chunk.end();
        Some((chunk.offset, chunk.bytes.clone()))
    }

    /// What was pushed or given to send again last goes packed: it takes `bytes` on its way.
    pub fn travels_as(&mut self, bytes: usize) {
        let Some(chunk) = self.cursor.checked_sub(1).and_then(|last| self.chunks.get_mut(last)) else { return };
        self.load -= chunk.load - chunk.delivered;
        self.load += chunk.weigh(bytes as u64, self.acked);
    }

    /// The peer has everything before `offset`, and held that word back for `delay`.
    ///
    /// # Errors
    /// [`BadOffset`] when that was never sent.
    pub fn acknowledge(&mut self, now: Time, offset: u64, delay: Duration) -> Result<(), BadOffset> {
        if offset > self.next {
            return Err(BadOffset);
        }
        if offset <= self.acked {
            return Ok(());
        }
        let on_the_way = self.chunks.iter_mut().take(self.cursor).take_while(|chunk| chunk.offset < offset);
        let delivered = on_the_way.map(|chunk| chunk.deliver(offset)).sum();
        self.load -= delivered;
        self.rate.delivered(now, delivered);
        self.acked = offset;
        let mut newest = None;
        while let Some(chunk) = self.chunks.front() {
            if chunk.end() > offset {
                break;
            }
            newest = chunk.sent.or(newest);
            if let Some(chunk) = self.chunks.pop_front()
                && !chunk.outlived
                && chunk.bytes.len() >= SPARE.0
                && self.spare.len() < SPARE.1
                && chunk.bytes.is_unique()
            {
                let mut buffer = Vec::from(chunk.bytes);
                buffer.clear();
                self.spare.push(buffer);
            }
            self.cursor = self.cursor.saturating_sub(1);
        }
        if let Some(sent) = newest {
            self.rate.sample(now, sent, delay);
        }
        Ok(())
    }

    /// A host that kept nothing goes on where its predecessor stopped: the next new byte is at `offset`.
    ///
    /// # Errors
    /// [`BadOffset`] when something was sent already.
    pub fn rebase(&mut self, offset: u64) -> Result<(), BadOffset> {
        if self.next != 0 {
            return Err(BadOffset);
        }
        (self.next, self.acked, self.sent) = (offset, offset, offset);
        Ok(())
    }

    /// A new attachment: the peer has everything before `offset`, the rest goes again.
    ///
    /// # Errors
    /// [`BadOffset`] when `offset` was never sent, or is no longer kept.
    pub fn resume(&mut self, now: Time, offset: u64) -> Result<(), BadOffset> {
        if offset < self.acked {
            return Err(BadOffset);
        }
        for chunk in &mut self.chunks {
            // What a lost connection delivered says nothing about the new one's rate.
            chunk.sent = None;
            chunk.outlived = true;
        }
        self.acknowledge(now, offset, Duration::ZERO)?;
        self.rate = Rate::default();
        self.cursor = 0;
        self.sent = self.acked;
        self.load = 0;
        Ok(())
    }
}

/// Delivery rate and delay of one attachment.
#[derive(Debug, Default)]
struct Rate {
    delivered: u64,
    delivered_at: Time,
    /// Best rate of the present and of the previous period, in bytes a second.
    best: [f64; 2],
    since: Time,
    min_rtt: Option<Duration>,
}

impl Rate {
    fn sent(&mut self, now: Time, short: bool) -> Sent {
        if self.delivered_at == Time::default() {
            self.delivered_at = now;
        }
        Sent { at: now, delivered: self.delivered, delivered_at: self.delivered_at, short }
    }

    fn delivered(&mut self, now: Time, bytes: u64) {
        self.delivered += bytes;
        self.delivered_at = now;
    }

    fn sample(&mut self, now: Time, sent: Sent, delay: Duration) {
        let rtt = now.since(sent.at).saturating_sub(delay).max(Duration::from_micros(1));
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
        let interval = now.since(sent.delivered_at).max(Duration::from_micros(1));
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let rate = (self.delivered - sent.delivered) as f64 / interval.as_secs_f64();
        // A sender with little to say must not make the line look slow: its samples can only raise.
        if !sent.short && now.since(self.since) > RATE_MEMORY.max(rtt * 10) {
            self.best = [0.0, self.best[0]];
            self.since = now;
        }
        self.best[0] = self.best[0].max(rate);
    }

    fn cap(&self) -> u64 {
        let Some(rtt) = self.min_rtt else { return 0 };
        let rate = self.best[0].max(self.best[1]);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates; an estimate")]
        let cap = (rate * (rtt * 2 + SLACK).as_secs_f64()) as u64;
        cap
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;

    const MS: u64 = 1000;

    /// A line of `rate` bytes a second and `rtt` ms, always full: what does the cap settle at?
    fn settle(rate: u64, rtt: u64) -> (u64, Duration) {
        let mut flight = Flight::new(0);
        let (mut now, mut free_at) = (MS, MS);
        let mut under_way = VecDeque::new();
        let mut worst = Duration::ZERO;
        for step in 0..20_000 {
            while flight.in_flight() + 16 * 1024 <= flight.cap() {
                flight.push(Time(now), Bytes::from(vec![0; 16 * 1024]), false);
                free_at = free_at.max(now) + 16 * 1024 * 1_000_000 / rate;
                under_way.push_back((free_at + rtt * MS, flight.next_offset(), now));
            }
            let Some((at, offset, sent)) = under_way.pop_front() else { break };
            now = now.max(at);
            if step > 10_000 {
                worst = worst.max(Time(now).since(Time(sent)));
            }
            flight.acknowledge(Time(now), offset, Duration::ZERO).unwrap();
        }
        (flight.cap(), worst)
    }

    #[test]
    fn a_slow_line_is_filled_without_a_long_queue() {
        let (cap, delay) = settle(10 << 20, 50);
        assert!(cap >= (10 << 20) / 20, "{cap}");
        // Three round trips for a short answer: one for the command, two here.
        assert!(delay <= Duration::from_millis(125), "{delay:?}");
    }

    #[test]
    fn a_fast_line_is_filled() {
        let (cap, _) = settle(400 << 20, 1);
        assert!(cap >= 1 << 20, "{cap}");
        let (cap, _) = settle(100 << 20, 50);
        assert!(cap >= 5 << 20, "{cap}");
    }

    #[test]
    fn packed_bytes_say_what_the_line_carries_not_what_they_hold() {
        // Ten bytes in one over a line of 10 MiB/s and 50 ms, then bytes that do not pack.
        let mut flight = Flight::new(0);
        let (mut now, mut free_at) = (MS, MS);
        let mut under_way = VecDeque::new();
        let (mut worst, mut best_packed) = (Duration::ZERO, 0);
        for step in 0..40_000 {
            let load = if step < 20_000 { 1_600 } else { 16_000 };
            while flight.has_room(16_000, 0) {
                flight.push(Time(now), Bytes::from(vec![0; 16_000]), false);
                flight.travels_as(load);
                free_at = free_at.max(now) + load as u64 * 1_000_000 / (10 << 20);
                under_way.push_back((free_at + 50 * MS, flight.next_offset(), now));
            }
            let (at, offset, sent) = under_way.pop_front().unwrap();
            now = now.max(at);
            worst = worst.max(Time(now).since(Time(sent)));
            flight.acknowledge(Time(now), offset, Duration::ZERO).unwrap();
            if step < 20_000 {
                best_packed = best_packed.max(flight.in_flight());
            }
        }
        assert!(best_packed > 4 << 20, "{best_packed} plain bytes fill the line, packed");
        assert!(worst <= Duration::from_millis(125), "{worst:?}");
    }

    #[test]
    fn a_partly_acknowledged_packed_chunk_weighs_by_its_part_and_nothing_is_left_at_the_end() {
        let mut flight = Flight::new(0);
        for load in [500, 1_000] {
            flight.push(Time(1), Bytes::from(vec![0; 1_000]), false);
            flight.travels_as(load);
        }
        flight.acknowledge(Time(2), 500, Duration::ZERO).unwrap();
        assert_eq!(flight.load, 1_250);
        flight.resume(Time(3), 700).unwrap();
        assert_eq!(flight.load, 0);
        while flight.resend(Time(4)).is_some() {
            flight.travels_as(100);
        }
        assert_eq!(flight.load, 30 + 100);
        flight.acknowledge(Time(5), 999, Duration::ZERO).unwrap();
        flight.acknowledge(Time(5), 2_000, Duration::ZERO).unwrap();
        assert_eq!((flight.load, flight.in_flight()), (0, 0));
    }

    #[test]
    fn what_is_not_acknowledged_goes_again_from_the_peer_s_offset() {
        let mut flight = Flight::new(0);
        for _ in 0..4 {
            flight.push(Time(1), Bytes::from_static(b"0123456789"), false);
        }
        flight.acknowledge(Time(2), 10, Duration::ZERO).unwrap();
        assert_eq!(flight.in_flight(), 30);
        flight.resume(Time(3), 20).unwrap();
        assert!(flight.has_backlog());
        assert_eq!(flight.in_flight(), 0);
        assert_eq!(flight.resend(Time(4)).unwrap().0, 20);
        assert_eq!(flight.in_flight(), 10);
        assert_eq!(flight.resend(Time(4)).unwrap().0, 30);
        assert!(flight.resend(Time(4)).is_none());
        assert_eq!(flight.resume(Time(5), 10), Err(BadOffset));
        assert_eq!(flight.acknowledge(Time(5), 41, Duration::ZERO), Err(BadOffset));
    }

    #[test]
    fn memory_is_used_again_unless_a_lost_connection_may_refer_to_it() {
        let mut flight = Flight::new(0);
        flight.push(Time(1), Bytes::from(vec![0; SPARE.0]), false);
        flight.acknowledge(Time(2), SPARE.0 as u64, Duration::ZERO).unwrap();
        assert_eq!(flight.spare(), 1);
        flight.drop_buffers();
        flight.push(Time(3), Bytes::from(vec![0; SPARE.0]), false);
        flight.resume(Time(4), SPARE.0 as u64).unwrap();
        assert_eq!(flight.spare(), 0);
        flight.push(Time(5), Bytes::from(vec![0; SPARE.0]), false);
        flight.resume(Time(6), 2 * SPARE.0 as u64).unwrap();
        drop(flight.resend(Time(7)));
        flight.acknowledge(Time(8), 3 * SPARE.0 as u64, Duration::ZERO).unwrap();
        assert_eq!(flight.spare(), 0);
    }

    #[test]
    fn a_resume_within_a_chunk_keeps_the_chunk() {
        let mut flight = Flight::new(0);
        flight.push(Time(1), Bytes::from_static(b"0123456789"), false);
        flight.resume(Time(3), 4).unwrap();
        assert_eq!(flight.resend(Time(4)).unwrap(), (0, Bytes::from_static(b"0123456789")));
    }
}
