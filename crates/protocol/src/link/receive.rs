//! The receiving half: what a frame does.

use std::time::Duration;

use bytes::Bytes;

use super::{Event, Greeting, Link, LinkError, Role, State};
use crate::{
    control::{self, StreamEnd},
    decode::Frame,
    handshake::{Hello, Ready, Refusal, Welcome},
    seal::Keys,
    time::Time,
    wire::{BadBytes, Kind, MAX_CONTROL, MAX_OFFSET, MAX_UNFINISHED, VERSION, le_u32, le_u64},
};

impl Link {
    /// Takes what the present connection brought. Events follow from [`Link::poll_event`].
    ///
    /// # Errors
    /// [`LinkError`]: the connection must be given up ([`Link::disconnect`]); what was taken before stays.
    pub fn receive(&mut self, now: Time, bytes: Bytes) -> Result<(), LinkError> {
        self.feed(now, bytes);
        while self.step(now)? {}
        Ok(())
    }

    /// Takes bytes without looking at them; [`Link::step`] does.
    pub fn feed(&mut self, now: Time, bytes: Bytes) {
        self.heard(now);
        self.decoder.push(bytes);
    }

    /// Looks at one frame of what was fed; false when there is none. For a driver that must act on a
    /// control message (open a stream) before the frames behind it are taken.
    ///
    /// # Errors
    /// As [`Link::receive`].
    pub fn step(&mut self, now: Time) -> Result<bool, LinkError> {
        if self.state == State::Detached {
            return Ok(false);
        }
        let keys: Option<&Keys> = match &self.role {
            Role::Host { .. } => None,
            Role::Supervisor { config, .. } => Some(&config.keys),
        };
        let Some(frame) = self.decoder.next(keys)? else { return Ok(false) };
        self.take(now, frame)?;
        Ok(true)
    }

    fn take(&mut self, now: Time, frame: Frame) -> Result<(), LinkError> {
        let host = matches!(self.role, Role::Host { .. });
        match frame.kind {
            Kind::Ready if host => self.on_ready(now, frame),
            Kind::Refused if host => {
                let refusal: Refusal = control::decode(frame.kind, &frame.payload.into_bytes())?;
                self.disconnect();
                self.events.push_back(Event::Refused(refusal));
                Ok(())
            }
            Kind::Hello if !host => self.on_hello(now, frame),
            Kind::Ready | Kind::Refused | Kind::Hello => Err(LinkError::Unexpected(frame.kind)),
            // A late message of an earlier attachment, or of another life.
            _ if frame.message.epoch != self.epoch || frame.message.attachment != self.attachment => Ok(()),
            Kind::Welcome if host => self.on_welcome(now, frame),
            Kind::Welcome => Err(LinkError::Unexpected(frame.kind)),
            _ if self.state != State::Attached => Ok(()),
            Kind::Ack => {
                let payload = payload::<12>(frame)?;
                let (offset, held) = (le_u64(&payload), le_u32(&payload[8..]));
                self.flight
                    .acknowledge(now, offset, Duration::from_micros(held.into()))
                    .map_err(|_| LinkError::BadOffset(offset))
            }
            Kind::Credit => {
                let stream = frame.stream;
                self.schedule.credit(stream, le_u64(&payload::<8>(frame)?));
                Ok(())
            }
            Kind::Ping => {
                self.pong = Some(le_u64(&payload::<8>(frame)?));
                Ok(())
            }
            // Having come is all that it has to say.
            Kind::Pong => Ok(payload::<8>(frame).map(|_| ())?),
            Kind::Data | Kind::End | Kind::Control | Kind::ControlPart => self.on_numbered(now, frame),
        }
    }

    fn on_ready(&mut self, now: Time, frame: Frame) -> Result<(), LinkError> {
        let ready: Ready = control::decode(frame.kind, &frame.payload.into_bytes())?;
        if self.state != State::AwaitReady {
            return Ok(());
        }
        if ready.version != VERSION {
            self.disconnect();
            let refusal = Refusal::Version { supervisor: ready.version, host: VERSION };
            self.events.push_back(Event::Refused(refusal));
            return Ok(());
        }
        if self.epoch != 0 && self.epoch != ready.epoch {
            self.disconnect();
            self.events.push_back(Event::OtherEpoch { epoch: ready.epoch });
            return Ok(());
        }
        self.epoch = ready.epoch;
        if let Role::Host { config, sealer, .. } = &mut self.role {
            sealer.get_or_insert_with(|| config.keys.sealer(ready.public_key));
        }
        self.state = State::AwaitWelcome;
        self.greeting = Some(Greeting::Hello);
        self.pinged = now;
        self.events.push_back(Event::Ready { epoch: ready.epoch });
        Ok(())
    }

    fn on_hello(&mut self, now: Time, frame: Frame) -> Result<(), LinkError> {
        let hello: Hello = control::decode(frame.kind, &frame.payload.into_bytes())?;
        // The host changed its way up; repeated or late hellos of this connection say nothing new.
        if self.check_hello(&hello).is_ok() {
            let _ = self.welcome(now, &hello);
        }
        Ok(())
    }

    fn on_welcome(&mut self, now: Time, frame: Frame) -> Result<(), LinkError> {
        let welcome: Welcome = control::decode(frame.kind, &frame.payload.into_bytes())?;
        if self.state != State::AwaitWelcome {
            return Ok(());
        }
        let Role::Host { oriented, .. } = &mut self.role else { return Ok(()) };
        if let Some(&offset) = [welcome.received, welcome.resumes].iter().find(|&&offset| offset >= MAX_OFFSET) {
            return Err(BadBytes::Offset(offset).into());
        }
        let bad = LinkError::BadOffset(welcome.received);
        if !std::mem::replace(oriented, true) {
            self.received = welcome.resumes;
            self.flight.rebase(welcome.received).map_err(|_| bad)?;
        } else if welcome.resumes != self.received {
            return Err(LinkError::Gap { expected: self.received, got: welcome.resumes });
        } else if self.early {
            // What went ahead is right behind the hello that this answers.
            self.flight.acknowledge(now, welcome.received, Duration::ZERO).map_err(|_| bad)?;
        } else {
            self.flight.resume(now, welcome.received).map_err(|_| bad)?;
        }
        self.attached(now);
        Ok(())
    }

    fn on_numbered(&mut self, now: Time, frame: Frame) -> Result<(), LinkError> {
        let (offset, size) = (frame.offset, frame.size());
        self.used = Some(now);
        self.note_for_ack(now, size, frame.kind == Kind::Data);
        if offset + size <= self.received {
            return Ok(());
        }
        if offset > self.received {
            return Err(LinkError::Gap { expected: self.received, got: offset });
        }
        if offset < self.received {
            return Err(LinkError::Misaligned(offset));
        }
        match frame.kind {
            Kind::Data => {
                let stream = frame.stream;
                let bytes = frame.payload.len() as u64;
                let open = self.windows.receive(stream, bytes).map_err(|_| LinkError::Credit(stream))?;
                if open || self.tells_unknown() {
                    self.events.extend(frame.payload.into_pieces().map(|bytes| Event::Data { stream, bytes }));
                }
            }
            Kind::End => {
                let stream = frame.stream;
                let end: StreamEnd = control::decode(frame.kind, &frame.payload.into_bytes())?;
                if self.windows.end(stream, end.offset).map_err(|_| LinkError::Credit(stream))? || self.tells_unknown()
                {
                    self.credits.remove(&stream);
                    self.events.push_back(Event::End { stream, end });
                }
            }
            _ => self.on_control(frame)?,
        }
        self.received = offset + size;
        Ok(())
    }

    fn on_control(&mut self, frame: Frame) -> Result<(), LinkError> {
        let (command, last) = (frame.stream.command, frame.kind == Kind::Control);
        let part = frame.payload.into_bytes();
        let message = match self.parts.remove(&command) {
            None if last => part,
            earlier => {
                let mut whole = earlier.unwrap_or_default();
                self.parts_len -= whole.len();
                whole.extend_from_slice(&part);
                if self.parts_len + whole.len() > MAX_CONTROL || self.parts.len() >= MAX_UNFINISHED {
                    return Err(LinkError::ControlLength);
                }
                if !last {
                    self.parts_len += whole.len();
                    self.parts.insert(command, whole);
                    return Ok(());
                }
                Bytes::from(whole)
            }
        };
        self.events.push_back(Event::Control { command, message });
        Ok(())
    }

    /// What came is acknowledged: at once when it is much, else soon.
    fn note_for_ack(&mut self, now: Time, size: u64, data: bool) {
        let timing = self.timing;
        self.ack.pending += size;
        self.ack.since_attach += size;
        self.ack.first.get_or_insert(now);
        let bound = (self.ack.since_attach / 8).clamp(timing.ack_bytes_first.into(), timing.ack_bytes.into());
        if self.ack.pending >= bound {
            self.ack.now = true;
        }
        let delay = if data { timing.data_ack_delay_ms } else { timing.ack_delay_ms };
        let due = now + Duration::from_millis(delay.into());
        self.ack.due = Some(self.ack.due.map_or(due, |known| known.min(due)));
    }
}

fn payload<const N: usize>(frame: Frame) -> Result<[u8; N], BadBytes> {
    let kind = frame.kind;
    <[u8; N]>::try_from(&frame.payload.into_bytes()[..]).map_err(|_| BadBytes::Payload(kind))
}
