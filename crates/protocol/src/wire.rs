//! Headers of messages and frames, and every bound of the format. All integers are little endian.

use std::fmt;

/// Version of the format. Both ends must speak the same one.
pub const VERSION: u16 = 4;

/// Bytes of a message's header: body length (u32), flags (u8), epoch (u64), attachment (u32), offset (u64).
pub const MESSAGE_HEADER: usize = 4 + 1 + 8 + 4 + 8;

/// Longest body of a message.
pub const MAX_BODY: usize = 512 * 1024;

/// Bytes of a frame's header: kind (u8), tag (u8), command (u32), payload length (u32).
pub const FRAME_HEADER: usize = 1 + 1 + 4 + 4;

/// Longest payload of one frame. A longer control message is cut into fragments.
pub const MAX_PAYLOAD: usize = 64 * 1024;

/// Longest control message, put together from its fragments: argument list and environment of one
/// command (Linux takes no more than 6 MiB of them) with room to spare.
pub const MAX_CONTROL: usize = 8 * 1024 * 1024;

/// Most control messages that may be unfinished at once; a sender that keeps to the rules has one.
pub const MAX_UNFINISHED: usize = 16;

/// Offsets stay below this, so that none overflows: 146 years at a GiB a second.
pub const MAX_OFFSET: u64 = 1 << 62;

/// The message's body is sealed, see [`crate::seal`].
pub const FLAG_SEALED: u8 = 1;

/// The message's body is packed, see [`crate::pack`]. Never together with [`FLAG_SEALED`].
pub const FLAG_PACKED: u8 = 2;

/// Identifies a command within an epoch; given by the host, counted up from 1, never given twice.
/// 0 is the supervisor itself.
pub type CommandId = u32;

/// One of a command's byte streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Channel {
    /// Host to program: standard input, or what is typed at a terminal.
    Stdin = 0,
    /// Program to host: standard output, or what a terminal shows.
    Stdout = 1,
    /// Program to host: standard error.
    Stderr = 2,
}

impl Channel {
    fn from_tag(tag: u8) -> Option<Self> {
        match tag {
            0 => Some(Self::Stdin),
            1 => Some(Self::Stdout),
            2 => Some(Self::Stderr),
            _ => None,
        }
    }
}

/// A byte stream: a command's channel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId {
    /// The command.
    pub command: CommandId,
    /// Its channel.
    pub channel: Channel,
}

impl fmt::Debug for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{:?}", self.command, self.channel)
    }
}

/// What a frame is. Numbered kinds count in the link's offset, are retained until acknowledged and
/// delivered exactly once; the others are about the connection itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Supervisor to host, first on a connection: [`crate::handshake::Ready`].
    Ready = 0x01,
    /// Host to supervisor: [`crate::handshake::Hello`].
    Hello = 0x02,
    /// Supervisor to host: [`crate::handshake::Welcome`].
    Welcome = 0x03,
    /// Supervisor to host: [`crate::handshake::Refusal`].
    Refused = 0x04,
    /// Offset up to which everything is in memory (u64), and for how long that was held back (u32, µs).
    Ack = 0x05,
    /// How far a stream may go, as an offset of that stream (u64).
    Credit = 0x06,
    /// A stamp (u64) to be sent back.
    Ping = 0x07,
    /// The stamp of a ping.
    Pong = 0x08,
    /// Numbered: bytes of a stream.
    Data = 0x10,
    /// Numbered: a stream's end, after its last byte: [`crate::control::StreamEnd`].
    End = 0x11,
    /// Numbered: a control message or its last fragment.
    Control = 0x12,
    /// Numbered: a fragment of a control message, of which more follow.
    ControlPart = 0x13,
}

impl Kind {
    fn from_byte(byte: u8) -> Option<Self> {
        Some(match byte {
            0x01 => Self::Ready,
            0x02 => Self::Hello,
            0x03 => Self::Welcome,
            0x04 => Self::Refused,
            0x05 => Self::Ack,
            0x06 => Self::Credit,
            0x07 => Self::Ping,
            0x08 => Self::Pong,
            0x10 => Self::Data,
            0x11 => Self::End,
            0x12 => Self::Control,
            0x13 => Self::ControlPart,
            _ => return None,
        })
    }

    /// Whether frames of this kind count in the link's offset.
    #[must_use]
    pub fn is_numbered(self) -> bool {
        self as u8 >= 0x10
    }
}

/// Bytes that are no message of this format. The connection they came from can't be used any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadBytes {
    /// A message announces a body over [`MAX_BODY`].
    #[error("message body of {0} bytes is over the limit")]
    BodyLength(usize),
    /// A frame announces a payload over [`MAX_PAYLOAD`], or beyond its message.
    #[error("frame payload of {0} bytes is over the limit or beyond its message")]
    PayloadLength(usize),
    /// An offset of [`MAX_OFFSET`] or more.
    #[error("offset {0} is over the limit")]
    Offset(u64),
    /// A message ends within a frame's header.
    #[error("message ends within a frame header")]
    CutFrame,
    /// No such kind of frame.
    #[error("unknown frame kind {0:#04x}")]
    Kind(u8),
    /// No such channel.
    #[error("unknown channel {0}")]
    Channel(u8),
    /// A payload that is not what its kind says.
    #[error("malformed {0:?} payload")]
    Payload(Kind),
    /// A sealed message that does not open.
    #[error("sealed message does not open")]
    Seal,
    /// A packed message that does not unpack, or that is sealed as well.
    #[error("packed message does not unpack")]
    Packed,
}

/// A message's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageHeader {
    /// Bytes of the body.
    pub body: usize,
    /// `FLAG_*`.
    pub flags: u8,
    /// The life of the supervisor that this belongs to; 0 from a host that knows none yet.
    pub epoch: u64,
    /// The attachment that this belongs to; 0 before the hello.
    pub attachment: u32,
    /// Offset of the first numbered frame in the body.
    pub offset: u64,
}

impl MessageHeader {
    /// The header's bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; MESSAGE_HEADER] {
        let mut out = [0; MESSAGE_HEADER];
        let body = u32::try_from(self.body).unwrap_or(u32::MAX);
        out[..4].copy_from_slice(&body.to_le_bytes());
        out[4] = self.flags;
        out[5..13].copy_from_slice(&self.epoch.to_le_bytes());
        out[13..17].copy_from_slice(&self.attachment.to_le_bytes());
        out[17..].copy_from_slice(&self.offset.to_le_bytes());
        out
    }

    /// Reads a header.
    ///
    /// # Errors
    /// [`BadBytes::BodyLength`] when the body would be over [`MAX_BODY`], [`BadBytes::Offset`].
    pub fn decode(bytes: &[u8; MESSAGE_HEADER]) -> Result<Self, BadBytes> {
        let body = le_u32(&bytes[..4]) as usize;
        if body > MAX_BODY {
            return Err(BadBytes::BodyLength(body));
        }
        let offset = le_u64(&bytes[17..]);
        if offset >= MAX_OFFSET {
            return Err(BadBytes::Offset(offset));
        }
        Ok(Self { body, flags: bytes[4], epoch: le_u64(&bytes[5..13]), attachment: le_u32(&bytes[13..17]), offset })
    }
}

/// A frame's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// What the frame is.
    pub kind: Kind,
    /// The command, and for [`Kind::Data`], [`Kind::End`] and [`Kind::Credit`] its channel (else `Stdin`).
    pub stream: StreamId,
    /// Bytes of the payload.
    pub payload: usize,
}

impl FrameHeader {
    /// Appends a frame to `out`.
    pub fn put(out: &mut Vec<u8>, kind: Kind, stream: StreamId, payload: &[u8]) {
        Self { kind, stream, payload: payload.len() }.put_header(out);
        out.extend_from_slice(payload);
    }

    /// Appends the header alone.
    pub fn put_header(&self, out: &mut Vec<u8>) {
        out.push(self.kind as u8);
        out.push(self.stream.channel as u8);
        out.extend_from_slice(&self.stream.command.to_le_bytes());
        out.extend_from_slice(&u32::try_from(self.payload).unwrap_or(u32::MAX).to_le_bytes());
    }

    /// Reads a header.
    ///
    /// # Errors
    /// An unknown kind or channel, or a payload over [`MAX_PAYLOAD`].
    pub fn decode(bytes: &[u8; FRAME_HEADER]) -> Result<Self, BadBytes> {
        let kind = Kind::from_byte(bytes[0]).ok_or(BadBytes::Kind(bytes[0]))?;
        let channel = Channel::from_tag(bytes[1]).ok_or(BadBytes::Channel(bytes[1]))?;
        let payload = le_u32(&bytes[6..]) as usize;
        if payload > MAX_PAYLOAD {
            return Err(BadBytes::PayloadLength(payload));
        }
        Ok(Self { kind, stream: StreamId { command: le_u32(&bytes[2..6]), channel }, payload })
    }
}

/// The first four bytes as a number; missing ones count as zero.
pub(crate) fn le_u32(bytes: &[u8]) -> u32 {
    let mut array = [0; 4];
    for (to, from) in array.iter_mut().zip(bytes) {
        *to = *from;
    }
    u32::from_le_bytes(array)
}

/// The first eight bytes as a number; missing ones count as zero.
pub(crate) fn le_u64(bytes: &[u8]) -> u64 {
    let mut array = [0; 8];
    for (to, from) in array.iter_mut().zip(bytes) {
        *to = *from;
    }
    u64::from_le_bytes(array)
}
