//! The state machine of one end of the channel.
//!
//! ```text
//!            connect()                 READY                   WELCOME
//! Detached ────────────► AwaitReady ──────────► AwaitWelcome ──────────► Attached      host
//! Detached ──────────────────── accept(HELLO) ─────────────────────────► Attached      supervisor
//!    any ── disconnect(), LinkError, REFUSED ──► Detached
//! ```
//!
//! The driver brings bytes, the time and a [`Source`] of stream bytes, and takes messages and events.
//! One `Link` lives as long as one epoch; what it has numbered survives any number of connections.

mod receive;
#[cfg(test)]
mod tests;
mod transmit;

use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    time::Duration,
};

use bytes::Bytes;
use serde::Serialize;

use crate::{
    control::{self, StreamEnd},
    decode::Decoder,
    flight::{CAP_MIN, Flight},
    handshake::{Hello, Ready, Refusal, Settings, Timing},
    schedule::Schedule,
    seal::{Keys, Sealer},
    time::Time,
    window::Windows,
    wire::{BadBytes, Channel, CommandId, FrameHeader, Kind, MAX_PAYLOAD, StreamId, VERSION},
};

/// A message to send, in two pieces that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Header and unnumbered frames (or the whole sealed message).
    pub head: Vec<u8>,
    /// Numbered frames; may be empty.
    pub body: Bytes,
}

impl Message {
    /// Bytes in all.
    #[must_use]
    pub fn len(&self) -> usize {
        self.head.len() + self.body.len()
    }

    /// Whether there is nothing in it; never true of a message that a link gave out.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Both pieces in one.
    #[must_use]
    pub fn to_bytes(&self) -> Bytes {
        if self.body.is_empty() {
            return Bytes::from(self.head.clone());
        }
        [&self.head[..], &self.body].concat().into()
    }
}

/// Where the bytes of outgoing streams come from.
pub trait Source {
    /// Appends at most `max` bytes (never 0) of `stream` to `out`.
    ///
    /// Called only for streams that [`Link::ready`] named, when they have credit and their turn.
    fn read(&mut self, stream: StreamId, max: usize, out: &mut Vec<u8>) -> Filled;
}

/// What a [`Source`] gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filled {
    /// There may be more at once.
    More,
    /// There is no more for now: [`Link::ready`] will be called when there is.
    Drained,
    /// That was all. The link fills in the offset.
    End(StreamEnd),
}

/// What a link has to tell its driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Host: the supervisor speaks; it may be written to. Its epoch is now this link's.
    Ready {
        /// The epoch.
        epoch: u64,
    },
    /// Both ends have found each other; what was lost is under way again.
    Attached,
    /// Host: another life of the supervisor answers. This link is over.
    OtherEpoch {
        /// The new epoch.
        epoch: u64,
    },
    /// Host: the supervisor does not want this host. The connection is over.
    Refused(Refusal),
    /// Nothing came for too long: the connection is broken.
    Silent,
    /// A control message.
    Control {
        /// What it is about.
        command: CommandId,
        /// [`crate::control::ToSupervisor`] or [`crate::control::FromSupervisor`].
        message: Bytes,
    },
    /// Bytes of an open incoming stream. [`Link::consume`] them when the consumer has taken them.
    Data {
        /// The stream.
        stream: StreamId,
        /// The bytes.
        bytes: Bytes,
    },
    /// The end of an open incoming stream, which is closed now.
    End {
        /// The stream.
        stream: StreamId,
        /// Why.
        end: StreamEnd,
    },
}

/// The peer breaks the rules, or the connection mixed bytes up. It must be given up; a new one may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// Not a message of this format.
    #[error(transparent)]
    BadBytes(#[from] BadBytes),
    /// Numbered frames are missing.
    #[error("frames are missing between offsets {expected} and {got}")]
    Gap {
        /// What should have come.
        expected: u64,
        /// What came.
        got: u64,
    },
    /// A repeated frame overlaps a new one.
    #[error("a frame at offset {0} overlaps what is known")]
    Misaligned(u64),
    /// An acknowledgement of what was never sent.
    #[error("offset {0} was never sent")]
    BadOffset(u64),
    /// More bytes than the credit allows, or an end at another offset.
    #[error("stream {0:?} does not keep to its credit")]
    Credit(StreamId),
    /// Fragments of control messages beyond [`crate::wire::MAX_CONTROL`].
    #[error("control messages are too long")]
    ControlLength,
    /// A frame that the other end does not send.
    #[error("unexpected {0:?} frame")]
    Unexpected(Kind),
}

/// What a host is.
#[derive(Debug)]
pub struct HostConfig {
    /// The session's token.
    pub token: [u8; 32],
    /// Id of the sandbox.
    pub sandbox: String,
    /// How the supervisor shall behave.
    pub settings: Settings,
    /// Keys for sealing.
    pub keys: Keys,
    /// Whether this host is the first to speak to the supervisor. If not, it kept nothing of what its
    /// predecessor knew, and finds out from the supervisor where it stands.
    pub fresh: bool,
}

/// What a supervisor is.
#[derive(Debug)]
pub struct SupervisorConfig {
    /// This life: random, not 0.
    pub epoch: u64,
    /// Keys that hosts seal to.
    pub keys: Keys,
}

#[derive(Debug)]
enum Role {
    Host {
        config: Box<HostConfig>,
        sealer: Option<Sealer>,
        /// Knows where both ends stand: from the start, or since the first welcome.
        oriented: bool,
    },
    Supervisor {
        config: SupervisorConfig,
        token: Option<[u8; 32]>,
        sandbox: Option<String>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Detached,
    AwaitReady,
    AwaitWelcome,
    Attached,
}

/// A control message that has no number yet, in its frames.
#[derive(Debug)]
struct Queued {
    command: CommandId,
    frame: Bytes,
}

/// One end of the channel. See the module's documentation.
#[derive(Debug)]
pub struct Link {
    role: Role,
    state: State,
    epoch: u64,
    attachment: u32,
    sealed: bool,
    /// Numbered frames went ahead of the welcome on this attachment.
    early: bool,
    timing: Timing,
    decoder: Decoder,

    // Outgoing
    flight: Flight,
    schedule: Schedule,
    control: VecDeque<Queued>,
    spoken: HashSet<CommandId>,
    scratch: Vec<u8>,

    // Incoming
    received: u64,
    windows: Windows,
    parts: HashMap<CommandId, Vec<u8>>,
    parts_len: usize,
    events: VecDeque<Event>,

    // Due with the next message
    greeting: Option<Greeting>,
    credits: BTreeMap<StreamId, u64>,
    pong: Option<u64>,
    ping: Option<u64>,
    ack: Ack,

    // Life
    pinged: Time,
    ticked: Time,
    silence: Duration,
    silent: bool,
}

#[derive(Clone, Debug)]
enum Greeting {
    Hello,
    Welcome { resumes: u64 },
}

/// What is received and not acknowledged.
#[derive(Debug, Default)]
struct Ack {
    pending: u64,
    since_attach: u64,
    first: Option<Time>,
    due: Option<Time>,
    now: bool,
}

/// The longest time that one tick counts as silence: a machine that slept, or a paused sandbox, was not silent.
const TICK: Duration = Duration::from_secs(5);

const SUPERVISOR: StreamId = StreamId { command: 0, channel: Channel::Stdin };

impl Link {
    /// A host's end that has not met its supervisor yet.
    #[must_use]
    pub fn host(config: HostConfig, now: Time) -> Self {
        let timing = config.settings.timing;
        let oriented = config.fresh;
        let role = Role::Host { config: Box::new(config), sealer: None, oriented };
        Self::new(role, 0, timing, now)
    }

    /// A supervisor's end that has not met its host yet.
    #[must_use]
    pub fn supervisor(config: SupervisorConfig, now: Time) -> Self {
        let epoch = config.epoch;
        let role = Role::Supervisor { config, token: None, sandbox: None };
        Self::new(role, epoch, Timing::STREAMING, now)
    }

    fn new(role: Role, epoch: u64, timing: Timing, now: Time) -> Self {
        Self {
            role,
            state: State::Detached,
            epoch,
            attachment: 0,
            sealed: false,
            early: false,
            timing,
            decoder: Decoder::default(),
            flight: Flight::new(0),
            schedule: Schedule::default(),
            control: VecDeque::new(),
            spoken: HashSet::new(),
            scratch: Vec::new(),
            received: 0,
            windows: Windows::default(),
            parts: HashMap::new(),
            parts_len: 0,
            events: VecDeque::new(),
            greeting: None,
            credits: BTreeMap::new(),
            pong: None,
            ping: None,
            ack: Ack::default(),
            pinged: now,
            ticked: now,
            silence: Duration::ZERO,
            silent: false,
        }
    }

    // ---- the connection's life ----

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

    fn check_hello(&mut self, hello: &Hello) -> Result<(), Refusal> {
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

    fn welcome(&mut self, now: Time, hello: &Hello) -> Result<(), Refusal> {
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

    fn attached(&mut self, now: Time) {
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

    // ---- control ----

    /// Sends a control message about `command`, in order with its others.
    pub fn send<T: Serialize>(&mut self, command: CommandId, message: &T) {
        let payload = control::encode(message);
        let stream = StreamId { command, channel: Channel::Stdin };
        let mut parts = payload.chunks(MAX_PAYLOAD).peekable();
        while let Some(part) = parts.next() {
            let kind = if parts.peek().is_some() { Kind::ControlPart } else { Kind::Control };
            let mut frame = Vec::with_capacity(crate::wire::FRAME_HEADER + part.len());
            FrameHeader::put(&mut frame, kind, stream, part);
            self.control.push_back(Queued { command, frame: frame.into() });
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

    // ---- streams ----

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

    /// The consumer of an incoming stream took `bytes`.
    pub fn consume(&mut self, stream: StreamId, bytes: u64) {
        if let Some(limit) = self.windows.consume(stream, bytes) {
            self.credits.insert(stream, limit);
        }
    }

    /// Takes no more of an incoming stream: what still comes is dropped.
    pub fn close_incoming(&mut self, stream: StreamId) {
        self.windows.close(stream);
        self.credits.remove(&stream);
    }

    // ---- what is seen from outside ----

    /// What there is to tell, one by one.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Smallest round trip on this connection, if one was measured.
    #[must_use]
    pub fn min_rtt(&self) -> Option<Duration> {
        self.flight.min_rtt()
    }

    /// Bytes sent and not acknowledged on the present connection.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.flight.in_flight()
    }

    /// Bytes that are kept until the peer acknowledges them.
    #[must_use]
    pub fn retained(&self) -> u64 {
        self.flight.next_offset() - self.flight.acked()
    }

    /// When [`Link::handle_timeout`] wants to be called; `None` while there is no connection.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        if self.state == State::Detached || self.silent {
            return None;
        }
        let silence = Duration::from_millis(self.timing.silence_ms.into());
        let tick = self.ticked + TICK.min(silence.saturating_sub(self.silence));
        let ping = self.pings().then(|| self.pinged + Duration::from_millis(self.timing.heartbeat_ms.into()));
        [Some(tick), ping, self.ack.due].into_iter().flatten().min()
    }

    /// The time is `now`.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.state == State::Detached {
            return;
        }
        if self.ack.due.is_some_and(|due| due <= now) {
            self.ack.now = true;
            self.ack.due = None;
        }
        if self.pings() && now.since(self.pinged) >= Duration::from_millis(self.timing.heartbeat_ms.into()) {
            self.pinged = now;
            self.ping = Some(now.0);
        }
        self.silence += now.since(self.ticked).min(TICK);
        self.ticked = now;
        if !self.silent && self.silence >= Duration::from_millis(self.timing.silence_ms.into()) {
            self.silent = true;
            self.events.push_back(Event::Silent);
        }
    }

    fn pings(&self) -> bool {
        self.state == State::Attached && matches!(self.role, Role::Host { .. })
    }

    fn heard(&mut self, now: Time) {
        self.ticked = now;
        self.silence = Duration::ZERO;
        self.silent = false;
    }
}

/// The first message of a supervisor on each connection.
#[must_use]
pub fn ready_message(epoch: u64, keys: &Keys) -> Vec<u8> {
    let ready = Ready { version: VERSION, epoch, public_key: keys.public() };
    transmit::bare_message(epoch, Kind::Ready, &control::encode(&ready))
}

/// The message that tells a host why it is refused.
#[must_use]
pub fn refusal_message(epoch: u64, refusal: &Refusal) -> Vec<u8> {
    transmit::bare_message(epoch, Kind::Refused, &control::encode(refusal))
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
