//! Bytes of an output on their way to the consumer. What it holds is bounded by the credit that the
//! link has given for the stream.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

/// Smaller pieces are copied together: a piece keeps the whole message that it came in.
const COPY_BELOW: usize = 32 * 1024;

/// From this size on a piece is given as it is: more pieces cost a reader less than the copy that would join them.
const WHOLE: usize = 16 * 1024;

/// Pieces in order.
#[derive(Debug, Default)]
pub struct Queue {
    pieces: VecDeque<Bytes>,
    /// The last, still growing piece.
    open: BytesMut,
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

    /// Appends a piece.
    pub fn push(&mut self, piece: Bytes) {
        self.len += piece.len();
        if piece.len() < COPY_BELOW {
            self.open.extend_from_slice(&piece);
            if self.open.len() < COPY_BELOW {
                return;
            }
            self.seal();
            return;
        }
        self.seal();
        self.pieces.push_back(piece);
    }

    fn seal(&mut self) {
        if !self.open.is_empty() {
            self.pieces.push_back(std::mem::take(&mut self.open).freeze());
        }
    }

    /// Takes up to `max` bytes from the front, joined into one vector without spare capacity; `None` when nothing waits.
    pub fn take(&mut self, max: usize) -> Option<Vec<u8>> {
        self.seal();
        let total = self.len.min(max);
        if total == 0 {
            return None;
        }
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
                queue.push(piece.into());
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
