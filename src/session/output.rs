//! One output of a command, on the host's side.

use std::sync::Arc;

use protocol::control::{EndReason, StreamEnd};

use super::{queue::Queue, tail::Tail};

/// Where an output's bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// To a reader, complete.
    Raw,
    /// To a reader, until the drain grace is over.
    Drained,
    /// Into a window of so many last bytes, with a file of at most so many in the sandbox.
    Tail {
        /// Bytes.
        window: usize,
        /// Bytes; `None` is no file.
        spill: Option<u64>,
    },
}

/// What one read of a collected output gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collected {
    /// Bytes from the asked offset, or the whole window when it is `lossy`.
    pub bytes: Vec<u8>,
    /// Offset to go on from.
    pub next: u64,
    /// Whether bytes between the asked offset and these are missing.
    pub lossy: bool,
    /// The file in the sandbox that has all bytes, when some are missing here.
    pub spill_path: Option<String>,
}

/// Where a reader finds more once it has taken all that came: a pipe that was lent to it.
pub trait Lent: std::fmt::Debug + Send + Sync {
    /// Fills `room` as far as there are bytes; gives how many that were. Does not wait for any.
    fn read(&self, room: &mut [u8]) -> usize;
}

/// One output.
#[derive(Debug)]
pub struct Output {
    store: Store,
    lent: Option<Arc<dyn Lent>>,
    end: Option<StreamEnd>,
    cut_off: bool,
    unwanted: bool,
    /// Whether a reader found nothing the last time.
    reader_waits: bool,
    /// Bytes that a reader took.
    taken: u64,
    /// Those of them that nobody was told of.
    untold: usize,
    /// How many of these are worth telling.
    tell_from: usize,
}

#[derive(Debug)]
enum Store {
    Queue(Queue),
    Tail(Tail, Option<Spill>),
}

#[derive(Debug)]
struct Spill {
    cap: u64,
    path: Option<String>,
    complete_to: u64,
    lost: bool,
}

impl Output {
    /// An output without bytes.
    pub fn new(mode: Mode) -> Self {
        let store = match mode {
            Mode::Raw | Mode::Drained => Store::Queue(Queue::default()),
            Mode::Tail { window, spill } => {
                Store::Tail(Tail::new(window), spill.map(|cap| Spill { cap, path: None, complete_to: 0, lost: false }))
            }
        };
        Self {
            store,
            lent: None,
            end: None,
            cut_off: false,
            unwanted: false,
            reader_waits: false,
            taken: 0,
            untold: 0,
            tell_from: 1,
        }
    }

    /// Takes bytes of the stream. Returns how many are consumed already, and whether a reader should be told.
    pub fn push(&mut self, bytes: &[u8]) -> (usize, bool) {
        self.put(bytes.len(), |store| match store {
            Store::Tail(tail, _) => tail.push(bytes),
            Store::Queue(queue) => queue.push(bytes),
        })
    }

    /// The same for bytes that need not be copied.
    pub fn push_whole(&mut self, bytes: Vec<u8>) -> (usize, bool) {
        self.put(bytes.len(), |store| match store {
            Store::Tail(tail, _) => tail.push(&bytes),
            Store::Queue(queue) => queue.push_whole(bytes),
        })
    }

    fn put(&mut self, count: usize, put: impl FnOnce(&mut Store)) -> (usize, bool) {
        // After an end without the supervisor's word bytes may still come: nobody waits for them.
        if self.unwanted || self.is_finished() {
            return (count, false);
        }
        let waited = self.waiting() > 0;
        put(&mut self.store);
        if matches!(self.store, Store::Queue(_)) { (0, !waited) } else { (count, false) }
    }

    /// Bytes that a collected stream had so far.
    pub fn total(&self) -> u64 {
        match &self.store {
            Store::Tail(tail, _) => tail.total(),
            Store::Queue(_) => 0,
        }
    }

    /// The stream goes on at `offset` of one that another host had.
    pub fn resume(&mut self, offset: u64) {
        if let Store::Tail(tail, _) = &mut self.store {
            tail.resume(offset);
        }
    }

    /// The stream ended.
    pub fn finish(&mut self, end: StreamEnd) {
        self.end.get_or_insert(end);
    }

    /// The stream ends without the supervisor's word.
    pub fn abandon(&mut self) {
        self.finish(StreamEnd { offset: 0, reason: EndReason::Closed, spilled: false });
    }

    /// The stream ends somewhere before its end: what is missing can't be had any more.
    pub fn cut_off(&mut self) {
        self.cut_off |= !self.is_finished();
        self.abandon();
    }

    /// Whether bytes may be missing at the end.
    pub fn is_cut_off(&self) -> bool {
        self.cut_off
    }

    /// Whether the stream ended; a reader may still have bytes to take.
    pub fn is_finished(&self) -> bool {
        self.end.is_some()
    }

    /// Whether the stream ended and all bytes were taken.
    pub fn is_over(&self) -> bool {
        self.is_finished() && (self.unwanted || self.waiting() == 0)
    }

    /// Bytes that wait for a reader.
    pub fn waiting(&self) -> usize {
        match &self.store {
            Store::Queue(queue) => queue.len(),
            Store::Tail(..) => 0,
        }
    }

    /// Bytes that a reader has taken, while others wait for it.
    pub fn left_at(&self) -> Option<u64> {
        (self.waiting() > 0).then_some(self.taken)
    }

    /// Takes up to `max` waiting bytes.
    pub fn take(&mut self, max: usize) -> Option<Vec<u8>> {
        let Store::Queue(queue) = &mut self.store else { return None };
        let taken = queue.take(max);
        let count = taken.as_ref().map_or(0, Vec::len);
        self.taken += count as u64;
        self.untold += count;
        self.reader_waits = taken.is_none();
        taken
    }

    /// Lends a pipe, whose bytes go on where those end that were pushed, to the reader; or ends that.
    pub fn lend(&mut self, pipe: Option<Arc<dyn Lent>>) {
        self.lent = pipe.filter(|_| !self.unwanted);
    }

    /// Whether a pipe is lent to the reader.
    pub fn is_lent(&self) -> bool {
        self.lent.is_some()
    }

    /// Fills `room` from the pipe that is lent, once all that was pushed before has been taken; gives how many bytes that were.
    pub fn read_lent(&mut self, room: &mut [u8]) -> usize {
        let lent = self.lent.as_ref().filter(|_| self.waiting() == 0);
        let count = lent.map_or(0, |pipe| pipe.read(room));
        self.reader_waits = count == 0;
        count
    }

    /// Whether a reader waits for bytes or the end, one of which will come.
    pub fn is_awaited(&self) -> bool {
        self.reader_waits && !self.is_over()
    }

    /// Bytes that were taken and are worth telling by now: each is told of once.
    pub fn taken(&mut self) -> Option<usize> {
        (self.untold >= self.tell_from).then(|| std::mem::take(&mut self.untold))
    }

    /// From now on fewer taken bytes than this are not worth telling.
    pub fn set_tell_from(&mut self, bytes: usize) {
        self.tell_from = bytes.max(1);
    }

    /// Nobody reads any more. Returns how many waiting bytes are dropped by that.
    pub fn discard(&mut self) -> usize {
        self.unwanted = true;
        self.reader_waits = false;
        self.lent = None;
        match &mut self.store {
            Store::Queue(queue) => queue.clear(),
            Store::Tail(..) => 0,
        }
    }

    /// Whether nobody reads any more.
    pub fn is_unwanted(&self) -> bool {
        self.unwanted
    }

    /// Where the spill file is.
    pub fn set_spill_path(&mut self, at: String) {
        if let Store::Tail(_, Some(spill)) = &mut self.store {
            spill.path = Some(at);
        }
    }

    /// The spill file has everything up to `offset`.
    pub fn set_spilled(&mut self, offset: u64) {
        if let Store::Tail(_, Some(spill)) = &mut self.store {
            spill.complete_to = offset;
        }
    }

    /// There is no spill file (any more).
    pub fn lose_spill(&mut self) {
        if let Store::Tail(_, Some(spill)) = &mut self.store {
            spill.lost = true;
        }
    }

    /// Reads a collected output; `None` when it is none.
    pub fn read_from(&self, offset: u64) -> Option<Collected> {
        let Store::Tail(tail, spill) = &self.store else { return None };
        let read = tail.read_from(offset);
        let spill_path = spill
            .as_ref()
            .filter(|spill| read.lossy && self.has_whole_file(spill, tail.total()))
            .and_then(|spill| spill.path.clone());
        Some(Collected { bytes: read.bytes, next: read.next, lossy: read.lossy, spill_path })
    }

    fn has_whole_file(&self, spill: &Spill, total: u64) -> bool {
        let complete = self.end.as_ref().map_or(spill.complete_to >= total, |end| end.spilled);
        complete && !spill.lost && total <= spill.cap
    }

    /// Bytes of host memory that a collected output holds.
    pub fn memory(&self) -> usize {
        match &self.store {
            Store::Tail(tail, _) => tail.memory(),
            Store::Queue(_) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed test may panic")]
    use super::*;

    fn collected(window: usize, spill: Option<u64>) -> Output {
        Output::new(Mode::Tail { window, spill })
    }

    fn end(spilled: bool) -> StreamEnd {
        StreamEnd { offset: 10, reason: EndReason::Eof, spilled }
    }

    #[test]
    fn c17_a_spill_path_is_shown_only_when_bytes_are_missing_and_the_file_has_them_all() {
        let mut output = collected(4, Some(100));
        output.set_spill_path("/r/spill".into());
        output.push(b"0123456789");
        assert_eq!(output.read_from(0).unwrap().spill_path, None, "the file is behind");
        output.set_spilled(10);
        assert_eq!(output.read_from(0).unwrap().spill_path.as_deref(), Some("/r/spill"));
        assert_eq!(output.read_from(6).unwrap().spill_path, None, "nothing is missing");
        output.finish(end(true));
        assert_eq!(output.read_from(5).unwrap().spill_path.as_deref(), Some("/r/spill"));
    }

    #[test]
    fn c17_a_file_that_was_not_kept_or_is_over_its_cap_is_not_shown() {
        for (cap, kept, lost) in [(100, false, false), (9, true, false), (100, true, true)] {
            let mut output = collected(4, Some(cap));
            output.set_spill_path("/r/spill".into());
            output.push(b"0123456789");
            output.set_spilled(10);
            if lost {
                output.lose_spill();
            }
            output.finish(end(kept));
            assert_eq!(output.read_from(0).unwrap().spill_path, None);
        }
    }

    #[test]
    fn c18_a_collected_output_is_consumed_at_once_and_a_raw_one_by_its_reader() {
        assert_eq!(collected(4, None).push(b"abc"), (3, false));
        let mut raw = Output::new(Mode::Raw);
        assert_eq!(raw.push(b"abc"), (0, true));
        assert_eq!(raw.push(b"def"), (0, false), "its reader knows already");
        assert_eq!(raw.take(4).unwrap(), b"abcd");
        raw.finish(end(false));
        assert!(!raw.is_over());
        assert_eq!(raw.discard(), 2);
        assert!(raw.is_over());
        assert_eq!(raw.push(b"x"), (1, false));
    }

    #[test]
    fn c18_taken_bytes_are_told_once_and_not_before_they_are_worth_it() {
        let mut raw = Output::new(Mode::Raw);
        raw.push(b"abcdefgh");
        raw.take(1);
        assert_eq!((raw.taken(), raw.taken()), (Some(1), None));
        raw.set_tell_from(4);
        raw.take(3);
        assert_eq!(raw.taken(), None);
        raw.take(1);
        assert_eq!(raw.taken(), Some(4));
        raw.take(2);
        raw.set_tell_from(2);
        assert_eq!(raw.taken(), Some(2), "what was kept is due by the new measure");
    }
}
