//! The five bytes before each message of a stream: flags and a length.

/// Length of an envelope.
pub(super) const LEN: usize = 5;
/// The message is compressed; we never ask for that.
pub(super) const COMPRESSED: u8 = 0b01;
/// The last frame of a stream.
pub(super) const END: u8 = 0b10;

/// The envelope of a plain message of `len` bytes; `None` when no envelope can say it.
pub(super) fn plain(len: usize) -> Option<[u8; LEN]> {
    let [a, b, c, d] = u32::try_from(len).ok()?.to_be_bytes();
    Some([0, a, b, c, d])
}

/// The length that the last four bytes say.
pub(super) fn length(header: [u8; LEN]) -> usize {
    let [_, a, b, c, d] = header;
    // A host has at least 32-bit sizes; saturation would be caught by the cap.
    usize::try_from(u32::from_be_bytes([a, b, c, d])).unwrap_or(usize::MAX)
}
