//! The last bytes of an output: a bounded window, read by whole-stream offsets.

/// What one read of a tail gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TailRead {
    /// The bytes from the asked offset, or the whole window when that offset has left it.
    pub bytes: Vec<u8>,
    /// Offset of the end of the stream so far.
    pub next: u64,
    /// Whether bytes between the asked offset and the window are missing.
    pub lossy: bool,
}

/// A ring that grows up to its capacity and then forgets its oldest bytes.
#[derive(Debug)]
pub struct Tail {
    capacity: usize,
    ring: Vec<u8>,
    /// Index of the oldest byte, once the ring is at its capacity.
    oldest: usize,
    total: u64,
}

impl Tail {
    /// An empty window of `capacity` bytes. Memory is taken as bytes come.
    pub fn new(capacity: usize) -> Self {
        Self { capacity, ring: Vec::new(), oldest: 0, total: 0 }
    }

    /// The stream is one that had bytes before, which are not here.
    pub fn resume(&mut self, offset: u64) {
        self.total = offset;
    }

    /// Bytes that the stream had so far.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        self.ring.capacity()
    }

    /// Appends what the stream brought.
    pub fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let bytes = &bytes[bytes.len().saturating_sub(self.capacity)..];
        let room = self.capacity - self.ring.len();
        let (fresh, over) = bytes.split_at(bytes.len().min(room));
        self.grow(fresh.len());
        self.ring.extend_from_slice(fresh);
        if over.is_empty() {
            return;
        }
        // The ring is full from here on: `over` replaces the oldest bytes, in two parts when it wraps.
        let (first, second) = over.split_at(over.len().min(self.capacity - self.oldest));
        self.ring[self.oldest..self.oldest + first.len()].copy_from_slice(first);
        self.ring[..second.len()].copy_from_slice(second);
        self.oldest = (self.oldest + over.len()) % self.capacity;
    }

    /// Doubles like a vector, but never beyond the capacity: a window of 1 MiB shall not hold 2.
    fn grow(&mut self, more: usize) {
        let needed = self.ring.len() + more;
        if needed > self.ring.capacity() {
            let target = (self.ring.capacity() * 2).clamp(needed, self.capacity.max(needed));
            self.ring.reserve_exact(target - self.ring.len());
        }
    }

    /// What the stream had from `offset` on, as far as the window goes.
    pub fn read_from(&self, offset: u64) -> TailRead {
        let first = self.total - self.ring.len() as u64;
        let lossy = offset < first;
        let skip = if lossy {
            0
        } else {
            usize::try_from(offset - first).map_or(self.ring.len(), |skip| skip.min(self.ring.len()))
        };
        let (newer, older) = self.ring.split_at(self.oldest);
        let bytes = [older, newer].concat().split_off(skip);
        TailRead { bytes, next: self.total, lossy }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against the plain definition: the last `capacity` bytes of everything.
        #[test]
        fn c17_a_read_is_the_rest_of_the_stream_or_the_whole_window_and_says_so(
            capacity in 0usize..40,
            chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 0..20),
            offset in 0u64..400,
        ) {
            let mut tail = Tail::new(capacity);
            let mut all = Vec::new();
            for chunk in &chunks {
                tail.push(chunk);
                all.extend_from_slice(chunk);
            }
            let first = all.len().saturating_sub(capacity);
            let from = usize::try_from(offset).unwrap_or(usize::MAX);
            let expected = if from < first { &all[first..] } else { &all[from.min(all.len())..] };
            let read = tail.read_from(offset);
            prop_assert_eq!(&read.bytes[..], expected);
            prop_assert_eq!(read.lossy, from < first);
            prop_assert_eq!(read.next, all.len() as u64);
            prop_assert!(tail.memory() <= capacity.max(8));
        }
    }

    #[test]
    fn c18_memory_is_the_window_whatever_the_stream_had() {
        let mut tail = Tail::new(1000);
        for _ in 0..10_000 {
            tail.push(&[7; 999]);
        }
        assert_eq!(tail.memory(), 1000);
        assert_eq!(tail.total(), 9_990_000);
    }
}
