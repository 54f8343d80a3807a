//! Packing of bodies: what a program says is text more often than not, and a third or less of it need travel.
//!
//! A packed body is one raw Snappy block, which says how long the plain body is. Snappy since it costs both ends less than the daemon's
//! own copies cost, so that packing pays on a fast line, too; LZ4 in safe Rust packs as well and unpacks short repetitions at half the
//! pace. A sample decides, so that what does not shrink costs next to nothing.

use std::{borrow::Cow, fmt};

use bytes::{Bytes, BytesMut};
use snap::raw::{Decoder, Encoder, decompress_len, max_compress_len};

use crate::wire::{BadBytes, MAX_BODY};

/// A shorter body is as fast on its way as a packed one.
const WORTH_PACKING: usize = 4 * 1024;
/// Bytes that are tried before a whole body is packed.
const SAMPLE: usize = 4 * 1024;

/// Whether `packed` bytes for `plain` ones are worth the work of both ends.
fn is_less(packed: usize, plain: usize) -> bool {
    packed <= plain / 4 * 3
}

/// Packs bodies that shrink.
pub struct Packer {
    encoder: Encoder,
    packed: Vec<u8>,
}

impl fmt::Debug for Packer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Packer").finish_non_exhaustive()
    }
}

impl Default for Packer {
    fn default() -> Self {
        Self { encoder: Encoder::new(), packed: Vec::new() }
    }
}

impl Packer {
    /// The packed form of `frames` and `body` behind them, when `body` makes it worth it.
    pub fn pack(&mut self, frames: &[u8], body: &[u8]) -> Option<&[u8]> {
        if body.len() < WORTH_PACKING {
            return None;
        }
        let sample = &body[..SAMPLE.min(body.len())];
        if !is_less(self.compress(sample)?, sample.len()) {
            return None;
        }
        let plain = if frames.is_empty() { Cow::Borrowed(body) } else { Cow::Owned([frames, body].concat()) };
        let length = self.compress(&plain)?;
        is_less(length, plain.len()).then(|| &self.packed[..length])
    }

    /// Lets kept memory go.
    pub fn drop_buffer(&mut self) {
        *self = Self::default();
    }

    /// Packs `plain` into the buffer; gives the length.
    fn compress(&mut self, plain: &[u8]) -> Option<usize> {
        let most = max_compress_len(plain.len());
        if self.packed.len() < most {
            self.packed.resize(most, 0);
        }
        self.encoder.compress(plain, &mut self.packed).ok()
    }
}

/// Unpacks bodies.
#[derive(Debug, Default)]
pub struct Unpacker {
    /// Filled again once nobody holds what was in it: fresh memory costs a page fault for every 4 KiB, more than unpacking does.
    plain: BytesMut,
}

impl Unpacker {
    /// Bytes of kept memory.
    #[cfg(test)]
    pub fn kept(&self) -> usize {
        self.plain.capacity()
    }

    /// Lets kept memory go.
    pub fn drop_buffer(&mut self) {
        self.plain = BytesMut::new();
    }

    /// The plain body of a packed one.
    ///
    /// # Errors
    /// [`BadBytes::BodyLength`] when it would be over [`MAX_BODY`], [`BadBytes::Packed`] when it is none, or not of the length that it
    /// says.
    pub fn unpack(&mut self, packed: &[u8]) -> Result<Bytes, BadBytes> {
        let length = decompress_len(packed).map_err(|_| BadBytes::Packed)?;
        if length > MAX_BODY {
            return Err(BadBytes::BodyLength(length));
        }
        self.plain.clear();
        self.plain.resize(length, 0);
        Decoder::new().decompress(packed, &mut self.plain).map_err(|_| BadBytes::Packed)?;
        Ok(self.plain.split().freeze())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;

    fn text(length: usize) -> Vec<u8> {
        (0..).flat_map(|line: u32| format!("line {line} of a program's output\n").into_bytes()).take(length).collect()
    }

    fn noise(length: usize) -> Vec<u8> {
        let mut state = 1_u64;
        let next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state.to_be_bytes()[0]
        };
        std::iter::repeat_with(next).take(length).collect()
    }

    #[test]
    fn text_of_any_length_comes_back_as_it_was() {
        let (mut packer, mut unpacker) = (Packer::default(), Unpacker::default());
        for length in [WORTH_PACKING, WORTH_PACKING + 1, 65_535, 65_536, 65_537, MAX_BODY] {
            let plain = text(length);
            let packed = packer.pack(&[], &plain).unwrap();
            assert!(packed.len() < length / 2, "{length}: {}", packed.len());
            assert_eq!(unpacker.unpack(packed).unwrap(), plain);
            let packed = packer.pack(b"frames", &plain[..WORTH_PACKING]).unwrap();
            assert_eq!(Unpacker::default().unpack(packed).unwrap(), [b"frames", &plain[..WORTH_PACKING]].concat());
        }
        assert!(packer.pack(&[], &text(WORTH_PACKING - 1)).is_none());
    }

    #[test]
    fn what_does_not_shrink_goes_plain_for_the_price_of_a_sample() {
        let mut packer = Packer::default();
        assert!(packer.pack(&[], &noise(MAX_BODY)).is_none());
        assert_eq!(packer.packed.len(), max_compress_len(SAMPLE));
        assert!(packer.pack(&[], &text(MAX_BODY)).is_some());
    }

    #[test]
    fn a_body_that_shrinks_at_its_beginning_only_goes_plain() {
        let body = [text(SAMPLE), noise(256 * 1024)].concat();
        assert!(Packer::default().pack(&[], &body).is_none());
    }

    #[test]
    fn bytes_that_are_no_packed_body_are_bad() {
        let plain = text(10_000);
        let packed = Packer::default().pack(&[], &plain).unwrap().to_vec();
        let unpack = |packed: &[u8]| Unpacker::default().unpack(packed);
        assert_eq!(unpack(&[]), Err(BadBytes::Packed));
        assert_eq!(unpack(&packed[..packed.len() - 1]), Err(BadBytes::Packed));
        // Its length, seven bits a byte.
        assert_eq!(packed[..2], [0x90, 0x4E]);
        let announced = |length: &[u8]| unpack(&[length, &packed[2..]].concat());
        assert_eq!(announced(&[0x8F, 0x4E]), Err(BadBytes::Packed));
        assert_eq!(announced(&[0x91, 0x4E]), Err(BadBytes::Packed));
        assert_eq!(announced(&[0xFF, 0xFF, 0xFF, 0xFF, 0x0F]), Err(BadBytes::BodyLength(u32::MAX as usize)));
    }
}
