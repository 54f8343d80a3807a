//! Bytes on their way to a program's standard input.

use std::{collections::VecDeque, fmt, sync::Arc};

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
    /// Bytes that were taken so far.
    taken: u64,
    ended: bool,
    closed: bool,
    writer_waits: bool,
    /// Whoever sends has nothing in hand.
    idle: bool,
    shortcut: Option<Arc<dyn Shortcut>>,
}

/// What needs no other thread. Neither may block for long.
pub trait Shortcut: fmt::Debug + Send + Sync {
    /// Sends as much as there is room for; gives how many bytes went.
    fn write(&self, bytes: &[u8]) -> usize;
    /// Gives a terminal another size.
    fn resize(&self, rows: u16, columns: u16);
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
        let sent =
            self.shortcut.as_ref().filter(|_| self.idle && self.len == 0).map_or(0, |shortcut| shortcut.write(bytes));
        let bytes = &bytes[sent..];
        let accepted = bytes.len().min(HIGH_WATER.saturating_sub(self.len));
        if accepted > 0 {
            self.pieces.push_back(Bytes::copy_from_slice(&bytes[..accepted]));
            self.len += accepted;
        }
        self.writer_waits = accepted < bytes.len();
        sent + accepted
    }

    /// Drops the last `count` bytes, as far as they wait.
    pub fn take_back(&mut self, count: usize) {
        let mut left = count.min(self.len);
        self.len -= left;
        while let Some(piece) = self.pieces.back_mut().filter(|_| left > 0) {
            let part = piece.len().min(left);
            piece.truncate(piece.len() - part);
            if piece.is_empty() {
                self.pieces.pop_back();
            }
            left -= part;
        }
    }

    /// From now on what comes while nothing waits goes this way, past whoever takes. Until it is closed.
    pub fn set_shortcut(&mut self, shortcut: Arc<dyn Shortcut>) {
        if !self.closed {
            self.shortcut = Some(shortcut);
        }
    }

    /// See [`Input::set_shortcut`].
    pub fn shortcut(&self) -> Option<Arc<dyn Shortcut>> {
        self.shortcut.clone()
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
        self.shortcut = None;
    }

    /// How many bytes will have been taken when all that waits now was.
    pub fn written(&self) -> u64 {
        self.taken + self.len as u64
    }

    /// How many bytes must be taken until all is that waited when [`Self::written`] said this.
    pub fn due(&self, written: u64) -> usize {
        usize::try_from(written.saturating_sub(self.taken)).unwrap_or(usize::MAX).min(self.len)
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
        self.idle = self.len == 0;
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
            self.taken += part as u64;
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
    #![allow(clippy::unwrap_used, reason = "a failed test may panic")]
    use std::sync::Mutex;

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
    fn c54_what_is_taken_back_is_the_last_that_waits_and_nothing_before_it() {
        let mut input = Input::default();
        input.write(b"first");
        input.write(b"second");
        input.write(b"third");
        input.take_back(7);
        let mut out = Vec::new();
        assert_eq!(input.take(9, &mut out), (Left::Nothing, false));
        assert_eq!(out, b"firstseco");
        input.write(b"x");
        input.take_back(100);
        assert!(!input.is_ready(), "what has gone is not counted");
        assert_eq!(input.write(&vec![1; HIGH_WATER + 1]), HIGH_WATER);
    }

    #[derive(Debug, Default)]
    struct Narrow(Mutex<Vec<u8>>);

    impl Shortcut for Narrow {
        fn write(&self, bytes: &[u8]) -> usize {
            let count = bytes.len().min(4);
            self.0.lock().unwrap().extend_from_slice(&bytes[..count]);
            count
        }

        fn resize(&self, _: u16, _: u16) {}
    }

    #[test]
    fn c51_what_comes_while_nothing_waits_goes_at_once_and_never_past_what_waits() {
        let way = Arc::new(Narrow::default());
        let mut input = Input::default();
        input.set_shortcut(Arc::clone(&way) as Arc<dyn Shortcut>);
        let mut out = Vec::new();
        assert_eq!(input.write(b"a"), 1, "nobody has said that nothing is in hand");
        assert_eq!(input.take(9, &mut out), (Left::Nothing, false));
        assert_eq!(input.write(b"b"), 1, "what was taken may not have gone");
        assert_eq!(
            (input.take(9, &mut out), input.take(9, &mut out)),
            ((Left::Nothing, false), (Left::Nothing, false))
        );
        assert_eq!((&out[..], way.0.lock().unwrap().len()), (&b"ab"[..], 0));
        assert_eq!(input.write(b"cdef"), 4);
        assert!(!input.is_ready());
        assert_eq!(input.write(b"ghijkl"), 6, "of which a part goes at once");
        assert_eq!(input.write(b"m"), 1);
        assert_eq!(input.take(9, &mut out), (Left::Nothing, false));
        assert_eq!((&way.0.lock().unwrap()[..], &out[2..]), (&b"cdefghij"[..], &b"klm"[..]));
        input.close();
        assert_eq!(Arc::strong_count(&way), 1, "the way is given up");
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
    fn c53_what_waited_at_a_moment_is_told_from_what_came_later() {
        let mut input = Input::default();
        input.write(b"abc");
        let moment = input.written();
        input.write(b"de");
        assert_eq!(input.due(moment), 3);
        let mut out = Vec::new();
        input.take(2, &mut out);
        assert_eq!(input.due(moment), 1);
        input.take(2, &mut out);
        assert_eq!(input.due(moment), 0);
        input.write(b"f");
        input.close();
        assert_eq!(input.due(input.written()), 0);
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
