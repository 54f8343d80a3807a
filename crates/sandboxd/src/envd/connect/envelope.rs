//! The five-byte envelope around each message of a stream: one byte of flags, the length as
//! 32-bit big endian, the message.

use std::io::Read as _;

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use prost::Message;
use serde::Serialize;
use serde_json::json;

use super::{Codec, Error};

const PREFIX: usize = 5;
const COMPRESSED: u8 = 0b01;
const END: u8 = 0b10;

/// One message of a stream in its envelope.
///
/// # Errors
/// As [`Codec::encode_into`].
pub fn message_frame<M: Message + Serialize>(codec: Codec, message: &M) -> Result<Bytes, Error> {
    let mut out = BytesMut::with_capacity(PREFIX + capacity(codec, message));
    out.put_bytes(0, PREFIX);
    codec.encode_into(message, &mut out)?;
    Ok(seal(out, 0))
}

/// The closing frame of a stream: with an error, or clean.
pub fn end_frame(error: Option<&Error>) -> Bytes {
    let body = match error {
        Some(error) => json!({ "error": error.to_json() }),
        None => json!({}),
    };
    let text = body.to_string();
    let mut out = BytesMut::with_capacity(PREFIX + text.len());
    out.put_bytes(0, PREFIX);
    out.put_slice(text.as_bytes());
    seal(out, END)
}

/// Room for the encoded message; base64 makes four bytes of three.
fn capacity<M: Message>(codec: Codec, message: &M) -> usize {
    let binary = message.encoded_len();
    match codec {
        Codec::Proto => binary,
        Codec::Json => binary / 3 * 4 + 128,
    }
}

fn seal(mut frame: BytesMut, flags: u8) -> Bytes {
    // A message is at most a few hundred KiB: entry lists are the largest.
    let length = u32::try_from(frame.len() - PREFIX).unwrap_or(u32::MAX);
    frame[0] = flags;
    frame[1..PREFIX].copy_from_slice(&length.to_be_bytes());
    frame.freeze()
}

/// Cuts a byte stream into the messages that it carries. Owns what has not become a message yet.
#[derive(Debug, Default)]
pub struct Splitter {
    buffer: BytesMut,
}

impl Splitter {
    /// Adds bytes as they came.
    pub fn push(&mut self, bytes: &Bytes) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next complete message, or `None` when more bytes are needed. Compressed messages are
    /// inflated (gzip is the only method that is ever announced).
    ///
    /// # Errors
    /// `internal` for a compressed frame that isn't gzip, `invalid_argument` for a frame with
    /// flags that a client may not send.
    pub fn next_message(&mut self) -> Result<Option<Bytes>, Error> {
        let Some((prefix, _)) = self.buffer.split_first_chunk::<PREFIX>() else { return Ok(None) };
        let flags = prefix[0];
        let length = u32::from_be_bytes([prefix[1], prefix[2], prefix[3], prefix[4]]) as usize;
        if self.buffer.len() < PREFIX + length {
            self.buffer.reserve(PREFIX + length - self.buffer.len());
            return Ok(None);
        }
        self.buffer.advance(PREFIX);
        let message = self.buffer.split_to(length).freeze();
        match flags {
            0 => Ok(Some(message)),
            COMPRESSED => inflate(&message).map(Some),
            _ => Err(Error::invalid_argument(format!("invalid envelope flags {flags:#010b}"))),
        }
    }

    /// Whether bytes of an unfinished frame are left. At the end of the body that is an error.
    pub fn is_mid_frame(&self) -> bool {
        !self.buffer.is_empty()
    }
}

/// Undoes gzip.
///
/// # Errors
/// `invalid_argument` when the bytes are not gzip.
pub fn inflate(bytes: &[u8]) -> Result<Bytes, Error> {
    let mut plain = Vec::new();
    flate2::read::MultiGzDecoder::new(bytes)
        .read_to_end(&mut plain)
        .map_err(|error| Error::invalid_argument(format!("decompress: {error}")))?;
    Ok(plain.into())
}

#[cfg(test)]
mod tests {
    use envd_api::process::{ListResponse, ProcessInfo};

    use super::*;
    use crate::envd::connect::Code;

    fn sample() -> ListResponse {
        ListResponse { processes: vec![ProcessInfo { pid: 300, tag: Some("t".into()), config: None }] }
    }

    #[test]
    fn a_frame_comes_back_whole_however_it_is_cut() {
        for codec in [Codec::Json, Codec::Proto] {
            let frame = message_frame(codec, &sample()).expect("encodes");
            let two = [&frame[..], &frame[..]].concat();
            for cut in 0..two.len() {
                let mut splitter = Splitter::default();
                let mut seen = Vec::new();
                for part in [&two[..cut], &two[cut..]] {
                    splitter.push(&Bytes::copy_from_slice(part));
                    while let Some(message) = splitter.next_message().expect("valid frames") {
                        seen.push(codec.decode::<ListResponse>(message).expect("decodes"));
                    }
                }
                assert_eq!(seen, vec![sample(), sample()], "{codec:?} cut at {cut}");
                assert!(!splitter.is_mid_frame());
            }
        }
    }

    #[test]
    fn a_cut_frame_is_unfinished_and_not_an_error() {
        let frame = message_frame(Codec::Proto, &sample()).expect("encodes");
        let mut splitter = Splitter::default();
        splitter.push(&frame.slice(..frame.len() - 1));
        assert!(splitter.next_message().expect("no error").is_none());
        assert!(splitter.is_mid_frame());
    }

    #[test]
    fn the_end_frame_carries_flag_two_and_the_error() {
        let frame = end_frame(Some(&Error::new(Code::NotFound, "gone")));
        assert_eq!(frame[0], 2);
        assert_eq!(u32::from_be_bytes([frame[1], frame[2], frame[3], frame[4]]) as usize, frame.len() - 5);
        let value: serde_json::Value = serde_json::from_slice(&frame[5..]).expect("JSON");
        assert_eq!(value, json!({"error": {"code": "not_found", "message": "gone"}}));
        assert_eq!(&end_frame(None)[..], b"\x02\0\0\0\x02{}");
    }

    #[test]
    fn a_client_may_not_send_an_end_frame() {
        let mut splitter = Splitter::default();
        splitter.push(&end_frame(None));
        assert_eq!(splitter.next_message().unwrap_err().code, Code::InvalidArgument);
    }
}
