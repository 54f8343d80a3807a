//! Damage for tests of what reads a peer's answers.

/// A generator that makes the same damage each time.
pub(crate) struct Noise(pub(crate) u64);

/// Bytes that mean something in messages, envelopes or JSON.
const MEANINGFUL: &[u8] = b"\x00\x01\x02\x7f\x80\xff\"{}[]:,\\ue09-n";

impl Noise {
    /// A number below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let wide = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16;
        usize::try_from(wide % (n.max(1) as u64)).unwrap_or_default()
    }

    /// One of these.
    pub(crate) fn one<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.below(of.len())]
    }

    /// Breaks `bytes` in up to three places.
    pub(crate) fn damage(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..self.below(4) {
            let (len, at) = (bytes.len(), self.below(bytes.len()));
            match self.below(7) {
                0 if len > 0 => bytes[at] ^= 1 << self.below(8),
                1 if len > 0 => bytes[at] = MEANINGFUL[self.below(MEANINGFUL.len())],
                2 => bytes.truncate(at),
                3 => drop(bytes.drain(at..(at + self.below(9)).min(len))),
                4 => {
                    let again = bytes[at..(at + self.below(20)).min(len)].to_vec();
                    bytes.splice(at..at, again);
                }
                5 => drop(bytes.splice(at..at, MEANINGFUL[..self.below(MEANINGFUL.len())].iter().copied())),
                _ => bytes.insert(at, MEANINGFUL[self.below(MEANINGFUL.len())]),
            }
        }
    }

    /// Gives `bytes` out in pieces of any size.
    pub(crate) fn pieces(&mut self, bytes: &[u8]) -> Vec<bytes::Bytes> {
        let mut rest = bytes::Bytes::copy_from_slice(bytes);
        let mut pieces = Vec::new();
        while rest.len() > 1 && self.below(3) > 0 {
            pieces.push(rest.split_to(1 + self.below(rest.len() - 1)));
        }
        pieces.push(rest);
        pieces
    }
}

/// How many cases a test takes: `DSH_HOSTILE_CASES`.
pub(crate) fn cases() -> u64 {
    std::env::var("DSH_HOSTILE_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(5_000)
}
