//! The sending half: what goes into the next message.

use bytes::Bytes;

use super::{Filled, Greeting, Link, Message, Role, SUPERVISOR, Source, State};
use crate::{
    control,
    flight::CONTROL_RESERVE,
    handshake::Hello,
    seal::OVERHEAD,
    time::Time,
    wire::{
        FLAG_PACKED, FLAG_SEALED, FRAME_HEADER, FrameHeader, Kind, MAX_BODY, MAX_PAYLOAD, MESSAGE_HEADER,
        MessageHeader, VERSION,
    },
};

/// Numbered bytes in one message: large reads pay for the hop through the daemon, while a fraction of
/// what may be under way keeps the line busy.
const BODY: (usize, usize) = (16 * 1024, 256 * 1024);
/// A chunk that filled less of its buffer than this is copied out, so that what is retained is exact.
const WORTH_KEEPING: usize = 128 * 1024;

impl Link {
    /// The next message to write, if there is one. Call again after each, when the writer has room.
    pub fn poll_transmit(&mut self, now: Time, source: &mut impl Source) -> Option<Message> {
        let may_speak = match self.state {
            State::Detached | State::AwaitReady => false,
            State::AwaitWelcome | State::Attached => true,
        };
        if !may_speak {
            return None;
        }
        let mut frames = Vec::new();
        match self.greeting.take() {
            Some(Greeting::Hello) => {
                if let Some(hello) = self.hello() {
                    FrameHeader::put(&mut frames, Kind::Hello, SUPERVISOR, &control::encode(&hello));
                }
            }
            Some(Greeting::Welcome { resumes }) => {
                let welcome = crate::handshake::Welcome { received: self.received, resumes };
                FrameHeader::put(&mut frames, Kind::Welcome, SUPERVISOR, &control::encode(&welcome));
            }
            None => {}
        }
        let (offset, body) = match self.numbered(now, source) {
            Some(numbered) => numbered,
            None => (self.flight.next_offset(), Bytes::new()),
        };
        self.put_signals(now, !frames.is_empty() || !body.is_empty(), &mut frames);
        if frames.is_empty() && body.is_empty() {
            return None;
        }
        Some(self.message(offset, frames, body))
    }

    fn hello(&self) -> Option<Hello> {
        let Role::Host { config, oriented, .. } = &self.role else { return None };
        Some(Hello {
            version: VERSION,
            token: config.token,
            sandbox: config.sandbox.clone(),
            attachment: self.attachment,
            received: (*oriented).then_some(self.received),
            settings: config.settings.clone(),
        })
    }

    /// Numbered frames and their offset: what was lost first, then control, then streams by turn.
    fn numbered(&mut self, now: Time, source: &mut impl Source) -> Option<(u64, Bytes)> {
        if self.flight.has_backlog() {
            // Where the peer stands is only known from its welcome.
            let may = self.state == State::Attached && self.flight.has_room(0, CONTROL_RESERVE);
            return if may { self.flight.resend(now) } else { None };
        }
        if self.state != State::Attached {
            // The first words of a fresh session need not wait: both ends stand at the start.
            let first = matches!(&self.role, Role::Host { config, .. } if config.fresh) && self.attachment == 1;
            if !first {
                return None;
            }
            self.early = true;
        }
        let cap = self.flight.plain_cap();
        // What shrank so far may not go on to: then it is no more than one cap too many.
        let budget = usize::try_from((cap / 4).min(self.flight.cap())).unwrap_or(BODY.1).clamp(BODY.0, BODY.1);
        let mut chunk = std::mem::take(&mut self.scratch);
        if chunk.capacity() == 0 {
            chunk = self.flight.buffer();
        }
        chunk.clear();
        self.put_control(&mut chunk);
        // A command that does not fit this message whole must be known before its input comes.
        let short = self.control.is_empty() && self.put_streams(cap, budget, source, &mut chunk);
        if chunk.is_empty() {
            self.scratch = chunk;
            return None;
        }
        let bytes = if chunk.len() >= WORTH_KEEPING {
            Bytes::from(chunk)
        } else {
            let exact = Bytes::copy_from_slice(&chunk);
            self.scratch = chunk;
            exact
        };
        self.used = Some(now);
        Some((self.flight.push(now, bytes.clone(), short), bytes))
    }

    fn put_control(&mut self, chunk: &mut Vec<u8>) {
        while let Some(queued) = self.control.front() {
            let full = !chunk.is_empty() && chunk.len() + queued.frame.len() > BODY.1;
            if full || !self.flight.has_room(chunk.len(), CONTROL_RESERVE) {
                break;
            }
            chunk.extend_from_slice(&queued.frame);
            self.spoken.insert(queued.command);
            self.control.pop_front();
        }
    }

    /// Returns whether the streams, not the line, were the limit.
    fn put_streams(&mut self, cap: u64, budget: usize, source: &mut impl Source, chunk: &mut Vec<u8>) -> bool {
        while chunk.len() + FRAME_HEADER < budget && self.flight.has_room(chunk.len(), 0) {
            let Some(turn) = self.schedule.turn(cap) else { return true };
            let start = chunk.len();
            let max = turn.bytes.min(MAX_PAYLOAD).min(budget - start - FRAME_HEADER);
            chunk.reserve_exact(BODY.1.saturating_sub(start));
            chunk.resize(start + FRAME_HEADER, 0);
            let filled = source.read(turn.stream, max, chunk);
            chunk.truncate(start + FRAME_HEADER + max);
            let payload = chunk.len() - start - FRAME_HEADER;
            if payload == 0 {
                chunk.truncate(start);
            } else {
                let mut header = Vec::with_capacity(FRAME_HEADER);
                FrameHeader { kind: Kind::Data, stream: turn.stream, payload }.put_header(&mut header);
                chunk[start..start + FRAME_HEADER].copy_from_slice(&header);
                self.spoken.insert(turn.stream.command);
            }
            // A source that claims more and gives nothing would never let go.
            let drained = payload == 0 || filled != Filled::More;
            self.schedule.took(turn.stream, payload, drained);
            if let Filled::End(mut end) = filled {
                end.offset = self.schedule.close(turn.stream).unwrap_or_default();
                FrameHeader::put(chunk, Kind::End, turn.stream, &control::encode(&end));
            }
        }
        false
    }

    /// Unnumbered frames that are due, and an acknowledgement whenever a message goes anyway.
    fn put_signals(&mut self, now: Time, goes_anyway: bool, frames: &mut Vec<u8>) {
        if self.state != State::Attached {
            return;
        }
        for (stream, limit) in std::mem::take(&mut self.credits) {
            FrameHeader::put(frames, Kind::Credit, stream, &limit.to_le_bytes());
        }
        if let Some(stamp) = self.ping.take() {
            FrameHeader::put(frames, Kind::Ping, SUPERVISOR, &stamp.to_le_bytes());
        }
        if let Some(stamp) = self.pong.take() {
            FrameHeader::put(frames, Kind::Pong, SUPERVISOR, &stamp.to_le_bytes());
        }
        let rides = self.ack.pending > 0 && (goes_anyway || !frames.is_empty());
        if self.ack.now || rides {
            let held = self.ack.first.map_or(0, |first| now.since(first).as_micros());
            let mut payload = [0; 12];
            payload[..8].copy_from_slice(&self.received.to_le_bytes());
            payload[8..].copy_from_slice(&u32::try_from(held).unwrap_or(u32::MAX).to_le_bytes());
            FrameHeader::put(frames, Kind::Ack, SUPERVISOR, &payload);
            self.ack.pending = 0;
            self.ack.first = None;
            self.ack.due = None;
            self.ack.now = false;
        }
    }

    fn message(&mut self, offset: u64, frames: Vec<u8>, body: Bytes) -> Message {
        let sealer = match &mut self.role {
            Role::Host { sealer, .. } if self.sealed => sealer.as_mut(),
            _ => None,
        };
        let mut header = MessageHeader {
            body: frames.len() + body.len(),
            flags: 0,
            epoch: self.epoch,
            attachment: self.attachment,
            offset,
        };
        debug_assert!(header.body + OVERHEAD <= MAX_BODY, "a message must fit its bound");
        let Some(sealer) = sealer else {
            if !has_control(&body)
                && let Some(packed) = self.packer.pack(&frames, &body)
            {
                header.body = packed.len();
                header.flags = FLAG_PACKED;
                self.flight.travels_as(packed.len());
                return Message { head: [&header.encode()[..], packed].concat(), body: Bytes::new() };
            }
            let mut head = Vec::with_capacity(MESSAGE_HEADER + frames.len());
            head.extend_from_slice(&header.encode());
            head.extend_from_slice(&frames);
            return Message { head, body };
        };
        header.body += OVERHEAD;
        header.flags = FLAG_SEALED;
        let header = header.encode();
        let plain = [&frames[..], &body].concat();
        let mut head = header.to_vec();
        head.extend_from_slice(&sealer.seal(&header, &plain));
        Message { head, body: Bytes::new() }
    }
}

/// Whether there is something about commands among numbered frames. Whoever sees how long a packed environment is learns of what is in it.
fn has_control(mut body: &[u8]) -> bool {
    while let Some((header, rest)) = body.split_first_chunk::<FRAME_HEADER>() {
        let Ok(header) = FrameHeader::decode(header) else { return true };
        if matches!(header.kind, Kind::Control | Kind::ControlPart) {
            return true;
        }
        body = rest.get(header.payload..).unwrap_or_default();
    }
    false
}

/// A message of one unnumbered frame that belongs to no attachment.
pub(super) fn bare_message(epoch: u64, kind: Kind, payload: &[u8]) -> Vec<u8> {
    let header = MessageHeader { body: FRAME_HEADER + payload.len(), flags: 0, epoch, attachment: 0, offset: 0 };
    let mut out = header.encode().to_vec();
    FrameHeader::put(&mut out, kind, SUPERVISOR, payload);
    out
}
