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

mod connection;
mod life;
mod receive;
mod streams;
#[cfg(test)]
mod tests;
mod transmit;

pub use connection::{read_hello, ready_message, refusal_message};

use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    time::Duration,
};

use bytes::Bytes;

use crate::{
    control::StreamEnd,
    decode::Decoder,
    flight::Flight,
    handshake::{Refusal, Settings, Timing},
    pack::Packer,
    schedule::Schedule,
    seal::{Keys, Sealer},
    time::Time,
    window::Windows,
    wire::{BadBytes, Channel, CommandId, Kind, StreamId},
};

/// A message to send, in two pieces that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Header and unnumbered frames (or the whole sealed or packed message).
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
    /// Called only for streams that [`Link::ready`] named, when they have credit and their turn, and by [`Link::send_ahead`].
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
    /// Fragments of control messages beyond [`crate::wire::MAX_CONTROL`] or [`crate::wire::MAX_UNFINISHED`].
    #[error("control messages are too long, or too many are unfinished")]
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
    packer: Packer,

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
    /// When a numbered frame was sent or came last, until memory that such ones need was given back.
    used: Option<Time>,
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
            packer: Packer::default(),
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
            used: None,
            ticked: now,
            silence: Duration::ZERO,
            silent: false,
        }
    }

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
}
