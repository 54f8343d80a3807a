//! Bytes of an output on their way to the consumer. What it holds is bounded by the credit that the
//! link has given for the stream.

use std::collections::VecDeque;

use bytes::Bytes;

/// Most bytes of a piece: one read takes as many.
const PIECE: usize = 256 * 1024;

/// Room for the first bytes after a silence.
const FIRST: usize = 4 * 1024;

/// From this size on a piece is given as it is: more pieces cost a reader less than the copy that would join them.
const WHOLE: usize = 16 * 1024;

/// Pieces in order. What comes is copied together as it comes, on the driver's thread, so that JavaScript's thread need not: a piece
/// that stays what it was would keep the whole message that it came in, and be joined with others by a copy later.
#[derive(Debug, Default)]
pub struct Queue {
    pieces: VecDeque<Bytes>,
    /// The last, still growing piece; it never grows out of its room.
    open: Vec<u8>,
    /// Room for the next one: a bit more than came between two reads before.
    room: usize,
    len: usize,
}

impl Queue {
    /// Bytes that wait.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends a copy of these bytes.
    pub fn push(&mut self, mut rest: &[u8]) {
        self.len += rest.len();
        while !rest.is_empty() {
            if self.open.len() == self.open.capacity() {
                self.seal();
                self.open = Vec::with_capacity(self.room.max(rest.len()).clamp(FIRST, PIECE));
                self.room = self.open.capacity() * 2;
            }
            let (fits, more) = rest.split_at(rest.len().min(self.open.capacity() - self.open.len()));
            self.open.extend_from_slice(fits);
            rest = more;
        }
    }

    /// Appends a piece; a large one stays what it is.
    pub fn push_whole(&mut self, piece: Vec<u8>) {
        if piece.len() < WHOLE {
            return self.push(&piece);
        }
        self.seal();
        self.len += piece.len();
        self.pieces.push_back(piece.into());
    }

    fn seal(&mut self) {
        if !self.open.is_empty() {
            self.pieces.push_back(std::mem::take(&mut self.open).into());
        }
    }

    /// Takes up to `max` bytes from the front, joined into one vector without spare capacity; `None` when nothing waits.
    pub fn take(&mut self, max: usize) -> Option<Vec<u8>> {
        let total = self.len.min(max);
        if total == 0 {
            return None;
        }
        self.room = self.open.len() + self.open.len() / 2;
        self.seal();
        if let Some(whole) = self.take_whole(max) {
            return Some(whole);
        }
        let mut out = Vec::with_capacity(total);
        while out.len() < total {
            let Some(piece) = self.pieces.front_mut() else { break };
            let part = piece.split_to(piece.len().min(total - out.len()));
            out.extend_from_slice(&part);
            if piece.is_empty() {
                self.pieces.pop_front();
            }
        }
        self.len -= out.len();
        Some(out)
    }

    /// The front piece as it is, without a copy, when nobody shares its memory and it is large, or all there is.
    fn take_whole(&mut self, max: usize) -> Option<Vec<u8>> {
        let fits = |piece: &Bytes| piece.len() <= max && (piece.len() == self.len || piece.len() >= WHOLE);
        if !self.pieces.front().is_some_and(|piece| fits(piece) && piece.is_unique()) {
            return None;
        }
        let piece = self.pieces.pop_front()?;
        self.len -= piece.len();
        let mut whole = Vec::from(piece);
        // Memory that came with spare room would be held with it.
        whole.shrink_to_fit();
        Some(whole)
    }

    /// Drops everything, and says how many bytes that were.
    pub fn clear(&mut self) -> usize {
        let len = self.len;
        *self = Self::default();
        len
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn c15_what_comes_out_is_what_went_in(
            sizes in prop::collection::vec(prop_oneof![0usize..100, 30_000usize..70_000], 0..12),
            max in 1usize..100_000,
        ) {
            let mut queue = Queue::default();
            let mut all = Vec::new();
            for (index, size) in sizes.iter().enumerate() {
                let piece: Vec<u8> = (0..*size).map(|at| (at.wrapping_mul(31) ^ index).to_le_bytes()[0]).collect();
                all.extend_from_slice(&piece);
                if index % 2 == 0 {
                    queue.push(&piece);
                } else {
                    queue.push_whole(piece);
                }
            }
            prop_assert_eq!(queue.len(), all.len());
            let mut out = Vec::new();
            while let Some(part) = queue.take(max) {
                prop_assert!(part.len() <= max && part.len() == part.capacity());
                out.extend_from_slice(&part);
            }
            prop_assert!(queue.is_empty());
            prop_assert_eq!(out, all);
        }
    }
}
