//! What is said when a connection begins.
//!
//! The supervisor speaks first ([`Ready`]), so that the host knows that its words have a reader. The
//! host says who it is and what it has ([`Hello`]); the supervisor answers with what it has
//! ([`Welcome`]) or why not ([`Refusal`]). Re-attaching is the same exchange.

use serde::{Deserialize, Serialize};

/// Supervisor to host, first on each connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// [`crate::wire::VERSION`] of the supervisor.
    pub version: u16,
    /// This life of the supervisor: random, never 0.
    pub epoch: u64,
    /// Public key (X25519) that sealed messages are sealed to.
    pub public_key: [u8; 32],
}

/// Host to supervisor.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// [`crate::wire::VERSION`] of the host.
    pub version: u16,
    /// Proves that this host may speak to this supervisor. The first hello of an epoch sets it.
    pub token: [u8; 32],
    /// The sandbox that the host means. A supervisor woken in a copy of its sandbox (from a snapshot or
    /// a fork) learns from it that it is not the one.
    pub sandbox: String,
    /// Counts the host's attachments; only a higher one replaces the present.
    pub attachment: u32,
    /// Offset up to which the host has what the supervisor sent; `None` from a host that kept nothing
    /// and takes what is unacknowledged from the start.
    pub received: Option<u64>,
    /// How the supervisor shall behave; the first hello of an epoch decides, later ones may only change timings.
    pub settings: Settings,
}

impl std::fmt::Debug for Hello {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hello")
            .field("version", &self.version)
            .field("token", &"[redacted]")
            .field("sandbox", &self.sandbox)
            .field("attachment", &self.attachment)
            .field("received", &self.received)
            .field("settings", &self.settings)
            .finish()
    }
}

/// How the supervisor shall behave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// Ambient names that start with one of these (any case) do not reach programs.
    pub env_prefixes: Vec<String>,
    /// Read `/etc/profile` once, through a login shell, for the ambient environment.
    pub login_environment: bool,
    /// End everything after this long without a host while commands run, in milliseconds; 0 is never.
    pub orphan_busy_ms: u64,
    /// The same with no command running.
    pub orphan_idle_ms: u64,
    /// How many prepared processes to keep at rest.
    pub prepared: u16,
    /// How the link is timed; both ends must agree.
    pub timing: Timing,
}

/// How a link is timed, and how often it acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timing {
    /// The host pings after this long without a ping, in milliseconds; the supervisor answers.
    pub heartbeat_ms: u32,
    /// A connection that brought nothing for this long is broken, in milliseconds.
    pub silence_ms: u32,
    /// An acknowledgement of control alone waits at most this long for a message to ride on, in milliseconds.
    pub ack_delay_ms: u32,
    /// The same once stream bytes wait for it, in milliseconds.
    pub data_ack_delay_ms: u32,
    /// An acknowledgement goes at once when this many bytes wait for it, early on an attachment.
    pub ack_bytes_first: u32,
    /// The same later on: the bound rises with what was received, since each acknowledgement costs a message.
    pub ack_bytes: u32,
}

impl Timing {
    /// Where messages cost nothing by the piece.
    pub const STREAMING: Self = Self {
        heartbeat_ms: 5_000,
        silence_ms: 15_000,
        ack_delay_ms: 25,
        data_ack_delay_ms: 2,
        ack_bytes_first: 32 * 1024,
        ack_bytes: 1024 * 1024,
    };
    /// Where each message to the supervisor is a request of its own.
    pub const UNARY: Self = Self {
        heartbeat_ms: 30_000,
        silence_ms: 75_000,
        ack_delay_ms: 1_000,
        data_ack_delay_ms: 1_000,
        ack_bytes_first: 2 * 1024 * 1024,
        ack_bytes: 2 * 1024 * 1024,
    };
}

impl Timing {
    /// [`Timing::STREAMING`] with another bound for silence; pings go three times as often.
    #[must_use]
    pub fn streaming(silence_ms: u32) -> Self {
        Self { silence_ms, heartbeat_ms: (silence_ms / 3).max(1), ..Self::STREAMING }
    }

    /// [`Timing::UNARY`] for a link whose bound is `silence_ms` where messages cost nothing: five times as patient.
    #[must_use]
    pub fn unary(silence_ms: u32) -> Self {
        Self {
            silence_ms: silence_ms.saturating_mul(5),
            heartbeat_ms: silence_ms.saturating_mul(2).max(1),
            ..Self::UNARY
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            env_prefixes: vec!["DSH_".into(), "TOH_".into()],
            login_environment: false,
            orphan_busy_ms: 24 * 60 * 60 * 1000,
            orphan_idle_ms: 10 * 60 * 1000,
            prepared: 4,
            timing: Timing::STREAMING,
        }
    }
}

/// Supervisor to host: the hello is accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// Offset up to which the supervisor has what the host sent.
    pub received: u64,
    /// Offset from which the supervisor's numbered frames follow.
    pub resumes: u64,
}

/// Supervisor to host: the hello is refused, the connection is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Refusal {
    /// The two ends speak different versions.
    #[error("the supervisor speaks protocol version {supervisor}, this host {host}")]
    Version {
        /// Of the supervisor.
        supervisor: u16,
        /// Of the host.
        host: u16,
    },
    /// The token is not this supervisor's.
    #[error("the supervisor belongs to another session")]
    Token,
    /// The supervisor runs in a copy of the sandbox that it was started in; it ends itself.
    #[error("the supervisor was woken in a copy of its sandbox")]
    Sandbox,
    /// The host claims to have what was never sent, or lacks what was acknowledged.
    #[error("the host's offset does not fit")]
    Offset,
    /// Another attachment with a higher number is there.
    #[error("a later attachment has taken over")]
    Stale,
}
