//! The five bytes before each message of a stream: flags and a length.

use tonic::Status;

use super::response::protocol;

/// Length of an envelope.
pub(super) const LEN: usize = 5;
/// The message is compressed; we never ask for that.
pub(super) const COMPRESSED: u8 = 0b01;
/// The last frame of a stream.
pub(super) const END: u8 = 0b10;

/// An envelope.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    /// [`COMPRESSED`], [`END`].
    pub(super) flags: u8,
    /// Bytes that follow.
    pub(super) length: usize,
}

/// The envelope of a plain message of `len` bytes.
///
/// # Errors
/// When no envelope can say that length.
pub(super) fn plain(len: usize) -> Result<[u8; LEN], Status> {
    let length = u32::try_from(len).map_err(|_| protocol(format!("{len} bytes are too large for an envelope")))?;
    let [a, b, c, d] = length.to_be_bytes();
    Ok([0, a, b, c, d])
}

/// Reads an envelope; `None` when these are not its bytes alone.
pub(super) fn parse(bytes: &[u8]) -> Option<Header> {
    let [flags, a, b, c, d] = *bytes else { return None };
    // A host has at least 32-bit sizes; saturation would be caught by the cap.
    let length = usize::try_from(u32::from_be_bytes([a, b, c, d])).unwrap_or(usize::MAX);
    Some(Header { flags, length })
}
