//! Bytes to frames, without copying payloads.

use std::collections::VecDeque;

use bytes::{Buf as _, Bytes, BytesMut};

use crate::{
    pack::Unpacker,
    seal::{Keys, Opener},
    wire::{
        BadBytes, FLAG_PACKED, FLAG_SEALED, FRAME_HEADER, FrameHeader, Kind, MESSAGE_HEADER, MessageHeader, StreamId,
    },
};

/// Pieces smaller than this are copied together: a peer that trickles must not make us keep a buffer a byte.
const SMALL: usize = 2048;

/// A sequence of bytes in several pieces.
#[derive(Debug, Default)]
pub struct Rope {
    pieces: VecDeque<Bytes>,
    tail: BytesMut,
    len: usize,
}

impl Rope {
    /// Bytes in all.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends a piece.
    pub fn push(&mut self, piece: Bytes) {
        self.len += piece.len();
        if piece.len() < SMALL {
            self.tail.extend_from_slice(&piece);
        } else {
            self.seal_tail();
            self.pieces.push_back(piece);
        }
    }

    fn seal_tail(&mut self) {
        if !self.tail.is_empty() {
            self.pieces.push_back(self.tail.split().freeze());
        }
    }

    /// The first `N` bytes, which stay; `None` when there are fewer.
    fn peek<const N: usize>(&self) -> Option<[u8; N]> {
        if self.len < N {
            return None;
        }
        let mut out = [0; N];
        let mut filled = 0;
        for piece in self.pieces.iter().map(|piece| &piece[..]).chain([&self.tail[..]]) {
            let n = piece.len().min(N - filled);
            out[filled..filled + n].copy_from_slice(&piece[..n]);
            filled += n;
        }
        Some(out)
    }

    /// Takes the first `n` bytes (fewer when there are fewer).
    pub fn take(&mut self, mut n: usize) -> Self {
        let mut out = Self::default();
        n = n.min(self.len);
        self.len -= n;
        out.len = n;
        while n > 0 {
            match self.pieces.front_mut() {
                Some(piece) if piece.len() <= n => {
                    n -= piece.len();
                    out.pieces.extend(self.pieces.pop_front());
                }
                Some(piece) => {
                    out.pieces.push_back(piece.split_to(n));
                    n = 0;
                }
                None => {
                    out.pieces.push_back(self.tail.split_to(n).freeze());
                    n = 0;
                }
            }
        }
        out
    }

    fn skip(&mut self, mut n: usize) {
        n = n.min(self.len);
        self.len -= n;
        while n > 0 {
            match self.pieces.front_mut() {
                Some(piece) if piece.len() <= n => {
                    n -= piece.len();
                    self.pieces.pop_front();
                }
                Some(piece) => {
                    piece.advance(n);
                    n = 0;
                }
                None => {
                    self.tail.advance(n);
                    n = 0;
                }
            }
        }
    }

    /// All of it in one piece.
    #[must_use]
    pub fn into_bytes(mut self) -> Bytes {
        self.seal_tail();
        if self.pieces.len() == 1 {
            return self.pieces.pop_front().unwrap_or_default();
        }
        let mut out = BytesMut::with_capacity(self.len);
        for piece in &self.pieces {
            out.extend_from_slice(piece);
        }
        out.freeze()
    }

    /// Its pieces in order.
    pub fn into_pieces(mut self) -> impl Iterator<Item = Bytes> {
        self.seal_tail();
        self.pieces.into_iter()
    }
}

/// A whole frame.
#[derive(Debug)]
pub struct Frame {
    /// Header of the message that it came in.
    pub message: MessageHeader,
    /// The link's offset of its first byte; meaningful for numbered kinds.
    pub offset: u64,
    /// What it is.
    pub kind: Kind,
    /// What it is about.
    pub stream: StreamId,
    /// Its payload.
    pub payload: Rope,
}

impl Frame {
    /// How far it moves the link's offset.
    #[must_use]
    pub fn size(&self) -> u64 {
        (FRAME_HEADER + self.payload.len()) as u64
    }
}

/// Turns one connection's bytes into frames. Keeps at most one frame, or one sealed or packed message in both its forms.
#[derive(Debug, Default)]
pub struct Decoder {
    input: Rope,
    body: Option<Body>,
    opener: Option<Opener>,
    unpacker: Unpacker,
}

#[derive(Debug)]
struct Body {
    header: MessageHeader,
    offset: u64,
    left: usize,
    // The plain frames of a sealed or packed message; else they come from the input.
    opened: Option<Rope>,
}

impl Decoder {
    /// Appends what a connection brought.
    pub fn push(&mut self, bytes: Bytes) {
        self.input.push(bytes);
    }

    /// Lets kept memory go.
    pub fn drop_buffer(&mut self) {
        self.unpacker.drop_buffer();
    }

    /// Bytes of memory that is kept to be used again.
    #[cfg(test)]
    pub fn kept(&self) -> usize {
        self.unpacker.kept()
    }

    /// Bytes that are kept until more come.
    #[must_use]
    pub fn held(&self) -> usize {
        self.input.len() + self.body.as_ref().and_then(|body| body.opened.as_ref()).map_or(0, Rope::len)
    }

    /// Whether the input so far ends where a message ends.
    #[must_use]
    pub fn is_at_boundary(&self) -> bool {
        self.body.is_none() && self.input.is_empty()
    }

    /// The next whole frame; `None` means that more bytes are needed.
    ///
    /// # Errors
    /// [`BadBytes`]: this is no message of the format. The decoder can't go on.
    pub fn next(&mut self, keys: Option<&Keys>) -> Result<Option<Frame>, BadBytes> {
        loop {
            let Some(body) = &mut self.body else {
                let Some(bytes) = self.input.peek::<MESSAGE_HEADER>() else { return Ok(None) };
                let header = MessageHeader::decode(&bytes)?;
                let mut body = Body { header, offset: header.offset, left: header.body, opened: None };
                if header.flags & (FLAG_SEALED | FLAG_PACKED) != 0 {
                    if self.input.len() < MESSAGE_HEADER + header.body {
                        return Ok(None);
                    }
                    self.input.skip(MESSAGE_HEADER);
                    let closed = self.input.take(header.body).into_bytes();
                    let plain = match header.flags {
                        FLAG_SEALED => {
                            Opener::open(&mut self.opener, keys.ok_or(BadBytes::Seal)?, &bytes, &closed)?.into()
                        }
                        FLAG_PACKED => self.unpacker.unpack(&closed)?,
                        _ => return Err(BadBytes::Packed),
                    };
                    body.left = plain.len();
                    let mut opened = Rope::default();
                    opened.push(plain);
                    body.opened = Some(opened);
                } else {
                    self.input.skip(MESSAGE_HEADER);
                }
                self.body = Some(body);
                continue;
            };
            if body.left == 0 {
                self.body = None;
                continue;
            }
            if body.left < FRAME_HEADER {
                return Err(BadBytes::CutFrame);
            }
            let source = body.opened.as_mut().unwrap_or(&mut self.input);
            let Some(bytes) = source.peek::<FRAME_HEADER>() else { return Ok(None) };
            let header = FrameHeader::decode(&bytes)?;
            let size = FRAME_HEADER + header.payload;
            if size > body.left {
                return Err(BadBytes::PayloadLength(header.payload));
            }
            if source.len() < size {
                return Ok(None);
            }
            source.skip(FRAME_HEADER);
            let payload = source.take(header.payload);
            body.left -= size;
            let frame =
                Frame { message: body.header, offset: body.offset, kind: header.kind, stream: header.stream, payload };
            if header.kind.is_numbered() {
                body.offset += frame.size();
            }
            return Ok(Some(frame));
        }
    }
}
