//! What the supervisor says.

use protocol::{
    Channel, CommandId, Event, StreamId, Time,
    control::{OutputChannel, StreamEnd},
    handshake::Refusal,
};

use super::{Driver, Over, adopt::Held, line::Line};
use crate::session::failure::Failure;

/// The output that a stream belongs to; `None` for an input.
pub(super) fn output_of(stream: StreamId) -> Option<OutputChannel> {
    match stream.channel {
        Channel::Stdin => None,
        Channel::Stdout => Some(OutputChannel::Stdout),
        Channel::Stderr => Some(OutputChannel::Stderr),
    }
}

impl Driver {
    /// Takes everything that the link has to tell.
    pub(super) fn on_events(&mut self) {
        let now = self.clock.now();
        while self.end.is_none()
            && let Some(event) = self.link.poll_event()
        {
            self.on_event(now, event);
        }
    }

    fn on_event(&mut self, now: Time, event: Event) {
        match event {
            Event::Ready { epoch } => self.on_ready(epoch),
            Event::Attached => self.on_attached(),
            Event::OtherEpoch { epoch } => self.on_other_epoch(epoch),
            Event::Refused(refusal) => self.on_refused(refusal),
            Event::Silent => self.broken("nothing was heard for too long".to_owned()),
            Event::Control { command, message } => {
                if !self.hold(command, Held::Control(message.clone())) {
                    self.on_control(command, &message);
                }
            }
            Event::Data { stream, bytes } => {
                if let Some(channel) = output_of(stream)
                    && self.hold(stream.command, Held::Data(channel, bytes.clone()))
                {
                    return;
                }
                let len = bytes.len();
                let taken = match (self.commands.get_mut(&stream.command), output_of(stream)) {
                    (Some(active), Some(channel)) => {
                        active.note_arrival(now, len);
                        let (taken, waits) = active.command.push(channel, &bytes);
                        self.news.add(now, &active.command, channel, len, waits);
                        taken
                    }
                    _ => len,
                };
                if taken > 0 {
                    self.link.consume(stream, taken as u64);
                }
            }
            Event::End { stream, end } => {
                let Some(channel) = output_of(stream) else { return };
                if !self.hold(stream.command, Held::End(channel, end.clone())) {
                    self.on_output_end(stream.command, channel, end);
                }
            }
        }
    }

    pub(super) fn on_output_end(&mut self, id: CommandId, channel: OutputChannel, end: StreamEnd) {
        let Some(active) = self.commands.get_mut(&id) else { return };
        active.end_output(channel);
        active.command.finish(channel, Some(end));
        self.settle_if_over(id);
    }

    fn on_ready(&mut self, epoch: u64) {
        tracing::debug!(sandbox = self.parts.sandbox, epoch, "the supervisor speaks");
        let now = self.clock.now();
        if let Line::Open(open) = &mut self.line {
            open.greeting = None;
            if !self.unary {
                open.fall_back_at = Some(now + super::connect::FALL_BACK_AFTER + open.effort * 2);
            }
        }
    }

    fn on_attached(&mut self) {
        tracing::debug!(sandbox = self.parts.sandbox, unary = self.unary, "attached");
        self.absence = None;
        // One broken connection between two words looks like a daemon without the streaming way: believe it the second time.
        if self.unary {
            self.unary_attached = self.unary_attached.saturating_add(1);
        } else {
            self.streamed = true;
        }
        self.checking = None;
        if let Line::Open(open) = &mut self.line {
            open.fall_back_at = None;
        }
        let now = self.clock.now();
        self.commands.values_mut().for_each(|active| active.note_line(now));
    }

    fn on_refused(&mut self, refusal: Refusal) {
        match refusal {
            // It ends itself, and the next attempt finds another one.
            Refusal::Sandbox | Refusal::Stale => self.broken(refusal.to_string()),
            Refusal::Version { .. } | Refusal::Token | Refusal::Offset => {
                self.finish(Over::Failed(Failure::Refused(refusal)))
            }
        }
    }
}
