//! What both ends send and have got.

use std::{collections::BTreeMap, sync::LazyLock};

use bytes::Bytes;

use crate::{
    control::{EndReason, StreamEnd},
    link::{Event, Filled, Link, Source},
    wire::StreamId,
};

/// A tiny generator, so that a schedule is its seed.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    pub(super) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// What the bytes of a stream are: any loss, repetition or swap shows, but for one of exactly a whole period, which its end shows.
fn key(stream: StreamId) -> u8 {
    (stream.command * 7) as u8 ^ stream.channel as u8
}

/// Bytes after which the pattern repeats.
const PERIOD: usize = 1 << 16;

/// The patterns without a stream's key: one that does not pack, and one of short runs that does. Made once: a million schedules look at
/// a terabyte.
static PATTERNS: LazyLock<[Vec<u8>; 2]> = LazyLock::new(|| {
    let runs = |at: usize| ((at >> 4) as u32).wrapping_mul(0x9E37_79B1).to_be_bytes()[0];
    [(0..PERIOD).map(|at| (at.wrapping_mul(31) ^ (at >> 8)) as u8).collect(), (0..PERIOD).map(runs).collect()]
});

/// Goes through what is expected from `at` on, `len` bytes, by pieces of the stream's pattern.
fn pieces(stream: StreamId, at: u64, len: usize) -> impl Iterator<Item = &'static [u8]> {
    let pattern = &PATTERNS[(stream.command as usize + 1) % 2];
    let mut at = at as usize % PERIOD;
    let mut left = len;
    std::iter::from_fn(move || {
        let n = left.min(PERIOD - at);
        let piece = &pattern[at..at + n];
        left -= n;
        at = 0;
        (n > 0).then_some(piece)
    })
}

/// Whether these are the stream's bytes from `at` on.
fn is_expected(stream: StreamId, at: u64, bytes: &[u8]) -> bool {
    let (key, mut bytes) = (key(stream), bytes);
    pieces(stream, at, bytes.len()).all(|piece| {
        let (here, rest) = bytes.split_at(piece.len());
        bytes = rest;
        here.iter().zip(piece).fold(0, |wrong, (got, want)| wrong | (got ^ want ^ key)) == 0
    })
}

/// An endless source that gives streams of known lengths.
#[derive(Default)]
pub(super) struct Feed {
    pub(super) left: BTreeMap<StreamId, (u64, u64)>,
    pub(super) stingy: bool,
}

impl Source for Feed {
    fn read(&mut self, stream: StreamId, max: usize, out: &mut Vec<u8>) -> Filled {
        let Some((at, len)) = self.left.get_mut(&stream) else { return Filled::Drained };
        let n = (*len - *at).min(if self.stingy { 1 + max as u64 / 3 } else { max as u64 });
        for piece in pieces(stream, *at, n as usize) {
            out.extend(piece.iter().map(|byte| byte ^ key(stream)));
        }
        *at += n;
        if at == len {
            self.left.remove(&stream);
            return Filled::End(StreamEnd { offset: 0, reason: EndReason::Eof, spilled: false });
        }
        Filled::More
    }
}

/// What one end has got.
#[derive(Default)]
pub(super) struct Got {
    pub(super) streams: BTreeMap<StreamId, u64>,
    pub(super) ended: BTreeMap<StreamId, u64>,
    pub(super) control: Vec<(u32, Bytes)>,
    /// What had come of each stream when the control message of the same index came.
    pub(super) before: Vec<BTreeMap<StreamId, u64>>,
    pub(super) unread: BTreeMap<StreamId, u64>,
}

impl Got {
    pub(super) fn take(&mut self, link: &mut Link) -> Vec<Event> {
        let mut others = Vec::new();
        while let Some(event) = link.poll_event() {
            match event {
                Event::Data { stream, bytes } => {
                    let at = self.streams.entry(stream).or_default();
                    assert!(is_expected(stream, *at, &bytes), "{stream:?} from {at}: other bytes");
                    *at += bytes.len() as u64;
                    *self.unread.entry(stream).or_default() += bytes.len() as u64;
                }
                Event::End { stream, end } => {
                    assert_eq!(end.offset, self.streams.get(&stream).copied().unwrap_or_default());
                    assert_eq!(self.ended.insert(stream, end.offset), None, "{stream:?} ended twice");
                }
                Event::Control { command, message } => {
                    self.control.push((command, message));
                    self.before.push(self.streams.clone());
                }
                other => others.push(other),
            }
        }
        others
    }

    pub(super) fn consume(&mut self, link: &mut Link, random: &mut Random) {
        for (stream, bytes) in &mut self.unread {
            if *bytes > 0 && random.chance(60) {
                let n = 1 + random.below(*bytes);
                link.consume(*stream, n);
                *bytes -= n;
            }
        }
    }
}
