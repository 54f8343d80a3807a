//! How connections come and go.

use super::{Ack, Event, Greeting, Link, LinkError, Role, State, transmit::bare_message};
use crate::{
    control,
    decode::Decoder,
    flight::CAP_MIN,
    handshake::{Hello, Ready, Refusal, Timing},
    seal::Keys,
    time::Time,
    wire::{Kind, VERSION},
};

impl Link {
    /// Host: a new connection was opened; the old one, if any, is given up. With `sealed`, everything to
    /// the supervisor is sealed, for a way on which it would be logged. Returns the attachment's number.
    pub fn connect(&mut self, now: Time, sealed: bool) -> u32 {
        self.begin(now);
        self.sealed = sealed;
        self.attachment += 1;
        self.state = State::AwaitReady;
        self.attachment
    }

    /// Host: says hello again on the same connection, by another way up to the supervisor. Only after
    /// [`Event::Ready`]; else nothing changes.
    pub fn hello_again(&mut self, now: Time, sealed: bool, timing: Timing) {
        if matches!(self.state, State::AwaitWelcome | State::Attached) {
            self.attachment += 1;
            self.sealed = sealed;
            self.set_timing(timing);
            self.early = false;
            self.state = State::AwaitWelcome;
            self.greeting = Some(Greeting::Hello);
            self.heard(now);
        }
    }

    /// Supervisor: a host said `hello` on a connection whose bytes `decoder` has. On success that
    /// connection replaces the present one.
    ///
    /// # Errors
    /// The refusal to send ([`refusal`]); the present connection stays.
    pub fn accept(&mut self, now: Time, hello: &Hello, decoder: Decoder) -> Result<(), Refusal> {
        self.check_hello(hello)?;
        self.begin(now);
        self.decoder = decoder;
        self.welcome(now, hello)
    }

    /// The connection is gone. Nothing is lost by that.
    pub fn disconnect(&mut self) {
        self.state = State::Detached;
        self.used = None;
        self.give_back();
        self.decoder = Decoder::default();
        self.greeting = None;
        self.credits.clear();
        self.ping = None;
        self.pong = None;
    }

    fn begin(&mut self, now: Time) {
        self.disconnect();
        self.ack = Ack::default();
        self.early = false;
        self.heard(now);
        self.pinged = now;
    }

    fn set_timing(&mut self, timing: Timing) {
        self.timing = timing;
        if let Role::Host { config, .. } = &mut self.role {
            config.settings.timing = timing;
        }
        // A peer that acknowledges by so many bytes must be sent more than that.
        self.flight.set_floor((u64::from(timing.ack_bytes_first) * 2).max(CAP_MIN));
    }

    pub(super) fn check_hello(&mut self, hello: &Hello) -> Result<(), Refusal> {
        let Role::Supervisor { token, sandbox, .. } = &self.role else { return Err(Refusal::Stale) };
        if hello.version != VERSION {
            return Err(Refusal::Version { supervisor: VERSION, host: hello.version });
        }
        if token.is_some_and(|known| !same(&known, &hello.token)) {
            return Err(Refusal::Token);
        }
        if sandbox.as_ref().is_some_and(|known| *known != hello.sandbox) {
            return Err(Refusal::Sandbox);
        }
        // A host without memory counts its attachments anew.
        if hello.received.is_some() && hello.attachment <= self.attachment {
            return Err(Refusal::Stale);
        }
        let known = self.flight.acked()..=self.flight.next_offset();
        if hello.received.is_some_and(|received| !known.contains(&received)) {
            return Err(Refusal::Offset);
        }
        Ok(())
    }

    pub(super) fn welcome(&mut self, now: Time, hello: &Hello) -> Result<(), Refusal> {
        let resumes = hello.received.unwrap_or(self.flight.acked());
        self.flight.resume(now, resumes).map_err(|_| Refusal::Offset)?;
        if let Role::Supervisor { token, sandbox, .. } = &mut self.role {
            token.get_or_insert(hello.token);
            sandbox.get_or_insert_with(|| hello.sandbox.clone());
        }
        self.attachment = hello.attachment;
        self.set_timing(hello.settings.timing);
        self.greeting = Some(Greeting::Welcome { resumes });
        self.attached(now);
        Ok(())
    }

    pub(super) fn attached(&mut self, now: Time) {
        self.state = State::Attached;
        self.ack = Ack::default();
        self.credits = self.windows.limits().collect();
        self.pinged = now;
        self.events.push_back(Event::Attached);
    }

    /// Whether both ends have found each other on the present connection.
    #[must_use]
    pub fn is_attached(&self) -> bool {
        self.state == State::Attached
    }

    /// The epoch; 0 for a host that has not met its supervisor.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }
}

/// The first message of a supervisor on each connection.
#[must_use]
pub fn ready_message(epoch: u64, keys: &Keys) -> Vec<u8> {
    let ready = Ready { version: VERSION, epoch, public_key: keys.public() };
    bare_message(epoch, Kind::Ready, &control::encode(&ready))
}

/// The message that tells a host why it is refused.
#[must_use]
pub fn refusal_message(epoch: u64, refusal: &Refusal) -> Vec<u8> {
    bare_message(epoch, Kind::Refused, &control::encode(refusal))
}

/// The hello on a new connection of a supervisor, which it reads before [`Link::accept`]; `None` while
/// more bytes are needed.
///
/// # Errors
/// [`LinkError`] when something else comes first.
pub fn read_hello(decoder: &mut Decoder, keys: &Keys) -> Result<Option<Hello>, LinkError> {
    let Some(frame) = decoder.next(Some(keys))? else { return Ok(None) };
    if frame.kind != Kind::Hello {
        return Err(LinkError::Unexpected(frame.kind));
    }
    Ok(Some(control::decode(frame.kind, &frame.payload.into_bytes())?))
}

/// Compares in constant time.
fn same(a: &[u8; 32], b: &[u8; 32]) -> bool {
    a.iter().zip(b).fold(0, |differences, (a, b)| differences | (a ^ b)) == 0
}
