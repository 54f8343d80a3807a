//! What is said about commands, and their byte streams, before it has a number.

use serde::Serialize;

use super::{Filled, Link, Queued, Role, Source};
use crate::{
    control::{self, StreamEnd},
    wire::{Channel, CommandId, FRAME_HEADER, FrameHeader, Kind, MAX_PAYLOAD, StreamId},
};

impl Link {
    /// Sends a control message about `command`, in order with its others.
    pub fn send<T: Serialize>(&mut self, command: CommandId, message: &T) {
        let payload = control::encode(message);
        let stream = StreamId { command, channel: Channel::Stdin };
        let mut parts = payload.chunks(MAX_PAYLOAD).peekable();
        while let Some(part) = parts.next() {
            let kind = if parts.peek().is_some() { Kind::ControlPart } else { Kind::Control };
            let mut frame = Vec::with_capacity(FRAME_HEADER + part.len());
            FrameHeader::put(&mut frame, kind, stream, part);
            self.control.push_back(Queued { command, frame: frame.into() });
        }
    }

    /// Takes what `stream` has to say out of turn, at most `most` bytes of it and as far as its credit goes: it arrives before
    /// whatever [`Link::send`] is called with next.
    pub fn send_ahead(&mut self, stream: StreamId, most: usize, source: &mut impl Source) {
        let mut left = most;
        loop {
            let credit = usize::try_from(self.schedule.room(stream)).unwrap_or(usize::MAX);
            let max = left.min(credit).min(MAX_PAYLOAD);
            if max == 0 {
                return;
            }
            let mut payload = Vec::new();
            let filled = source.read(stream, max, &mut payload);
            left -= payload.len();
            if !payload.is_empty() {
                let mut frame = Vec::with_capacity(FRAME_HEADER + payload.len());
                FrameHeader::put(&mut frame, Kind::Data, stream, &payload);
                self.control.push_back(Queued { command: stream.command, frame: frame.into() });
            }
            let more = !payload.is_empty() && filled == Filled::More;
            self.schedule.took_ahead(stream, payload.len(), !more);
            if let Filled::End(end) = filled {
                return self.end_outgoing(stream, end);
            }
            if !more {
                return;
            }
        }
    }

    /// Whether anything about `command` was handed to a connection: it may have been heard.
    #[must_use]
    pub fn was_sent(&self, command: CommandId) -> bool {
        self.spoken.contains(&command)
    }

    /// Takes back what was queued about `command`; false when part of it was handed to a connection, and
    /// nothing is taken back.
    pub fn take_back(&mut self, command: CommandId) -> bool {
        if self.was_sent(command) {
            return false;
        }
        self.control.retain(|queued| queued.command != command);
        true
    }

    /// `command` is over: nothing more is said about it.
    pub fn forget(&mut self, command: CommandId) {
        self.spoken.remove(&command);
        if let Some(part) = self.parts.remove(&command) {
            self.parts_len -= part.len();
        }
    }

    /// Lets a stream go out. `offset` is 0 for a new one.
    pub fn open_outgoing(&mut self, stream: StreamId, offset: u64) {
        self.schedule.open(stream, offset);
    }

    /// The source of an outgoing stream has bytes, or its end.
    pub fn ready(&mut self, stream: StreamId) {
        self.schedule.ready(stream);
    }

    /// Whether an outgoing stream has something that could not go yet, for want of credit or of a line.
    #[must_use]
    pub fn is_waiting(&self, stream: StreamId) -> bool {
        self.schedule.is_waiting(stream)
    }

    /// Bytes that an outgoing stream has sent; `None` when it is not open.
    #[must_use]
    pub fn sent(&self, stream: StreamId) -> Option<u64> {
        self.schedule.sent(stream)
    }

    /// Sends the end of an outgoing stream out of turn, without asking its source, and closes it.
    pub fn end_outgoing(&mut self, stream: StreamId, mut end: StreamEnd) {
        let Some(sent) = self.schedule.close(stream) else { return };
        end.offset = sent;
        let mut frame = Vec::new();
        FrameHeader::put(&mut frame, Kind::End, stream, &control::encode(&end));
        self.control.push_back(Queued { command: stream.command, frame: frame.into() });
    }

    /// Gives an outgoing stream up; the peer hears nothing.
    pub fn close_outgoing(&mut self, stream: StreamId) {
        self.schedule.close(stream);
    }

    /// Lets a stream come in. `offset` is 0 for a new one.
    pub fn open_incoming(&mut self, stream: StreamId, offset: u64) {
        self.windows.open(stream, offset);
    }

    /// Host that kept nothing: goes on with a stream of its predecessor, whose next byte is at `offset`. What came of it before was
    /// told as [`Event::Data`] all the same.
    pub fn adopt_incoming(&mut self, stream: StreamId, offset: u64) {
        // The supervisor knows the command: nothing about it can be taken back.
        self.spoken.insert(stream.command);
        let limit = self.windows.adopt(stream, offset);
        self.credits.insert(stream, limit);
    }

    /// Whether bytes of streams that are not open are told: a host that kept nothing learns only by and by which there are.
    pub(super) fn tells_unknown(&self) -> bool {
        matches!(&self.role, Role::Host { config, .. } if !config.fresh)
    }

    /// The consumer of an incoming stream took `bytes`.
    pub fn consume(&mut self, stream: StreamId, bytes: u64) {
        if let Some(limit) = self.windows.consume(stream, bytes) {
            self.credits.insert(stream, limit);
        }
    }

    /// After how many more consumed bytes [`Link::consume`] has something to tell the peer; `None` when the stream is not open. For a
    /// consumer on another thread, which need not tell of each read.
    #[must_use]
    pub fn consumption_due(&self, stream: StreamId) -> Option<u64> {
        self.windows.due(stream)
    }

    /// Takes no more of an incoming stream: what still comes is dropped.
    pub fn close_incoming(&mut self, stream: StreamId) {
        self.windows.close(stream);
        self.credits.remove(&stream);
    }
}
