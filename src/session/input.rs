//! Bytes on their way to a program's standard input.

use std::collections::VecDeque;

use bytes::{Buf, Bytes};

/// How much waits at most; a writer beyond it waits itself.
pub const HIGH_WATER: usize = 1024 * 1024;

/// A writer that waits is told when no more than this is left.
const LOW_WATER: usize = HIGH_WATER / 2;

/// What waits to be sent.
#[derive(Debug, Default)]
pub struct Input {
    pieces: VecDeque<Bytes>,
    len: usize,
    ended: bool,
    closed: bool,
    writer_waits: bool,
}

/// What is left after some bytes were taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// More bytes.
    More,
    /// Nothing for now.
    Nothing,
    /// Nothing any more, ever.
    End,
}

impl Input {
    /// Takes as many of the bytes as there is room for and returns their number; 0 means: wait, or it is closed.
    pub fn write(&mut self, bytes: &[u8]) -> usize {
        if self.closed || self.ended {
            return 0;
        }
        let accepted = bytes.len().min(HIGH_WATER.saturating_sub(self.len));
        if accepted > 0 {
            self.pieces.push_back(Bytes::copy_from_slice(&bytes[..accepted]));
            self.len += accepted;
        }
        self.writer_waits = accepted < bytes.len();
        accepted
    }

    /// No more bytes come.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// The program takes no more: what waits is dropped.
    pub fn close(&mut self) {
        self.closed = true;
        self.writer_waits = false;
        self.pieces.clear();
        self.len = 0;
    }

    /// Whether the program takes no more.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Whether there is something to send, be it the end.
    pub fn is_ready(&self) -> bool {
        self.len > 0 || self.ended || self.closed
    }

    /// Appends up to `max` bytes to `out`. The second value says that a waiting writer can go on.
    pub fn take(&mut self, max: usize, out: &mut Vec<u8>) -> (Left, bool) {
        let mut room = max;
        while room > 0
            && let Some(piece) = self.pieces.front_mut()
        {
            let part = piece.len().min(room);
            out.extend_from_slice(&piece[..part]);
            piece.advance(part);
            if piece.is_empty() {
                self.pieces.pop_front();
            }
            room -= part;
            self.len -= part;
        }
        let wake = self.writer_waits && self.len <= LOW_WATER;
        if wake {
            self.writer_waits = false;
        }
        let left = if self.len > 0 {
            Left::More
        } else if self.ended || self.closed {
            Left::End
        } else {
            Left::Nothing
        };
        (left, wake)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c14_a_full_input_takes_no_more_until_it_is_half_empty() {
        let mut input = Input::default();
        let data = vec![1; HIGH_WATER + 10];
        assert_eq!(input.write(&data), HIGH_WATER);
        assert_eq!(input.write(&data[HIGH_WATER..]), 0);
        let mut out = Vec::new();
        assert_eq!(input.take(HIGH_WATER / 4, &mut out), (Left::More, false));
        assert_eq!(input.take(HIGH_WATER / 4, &mut out), (Left::More, true));
        assert_eq!(input.take(1, &mut out), (Left::More, false), "a writer is told once");
        assert_eq!(input.write(&[1; 10]), 10);
    }

    #[test]
    fn c14_the_end_comes_after_the_last_byte_and_nothing_after_it() {
        let mut input = Input::default();
        assert_eq!(input.write(b"abc"), 3);
        assert_eq!(input.write(b"de"), 2);
        input.end();
        assert_eq!(input.write(b"late"), 0);
        let mut out = Vec::new();
        assert_eq!(input.take(4, &mut out), (Left::More, false));
        assert_eq!(input.take(4, &mut out), (Left::End, false));
        assert_eq!(out, b"abcde");
    }

    #[test]
    fn c14_a_closed_input_drops_what_waits() {
        let mut input = Input::default();
        input.write(b"abc");
        input.close();
        let mut out = Vec::new();
        assert_eq!(input.take(9, &mut out), (Left::End, false));
        assert!(out.is_empty());
        assert_eq!(input.write(b"x"), 0);
    }
}
