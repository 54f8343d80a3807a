//! What the driver needs of the world: connections to the supervisor, and word of the sandbox.

use std::{
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::future::BoxFuture;

/// The way to one sandbox' supervisor.
pub trait Connector: Send + Sync + 'static {
    /// Brings the supervisor there if it is not, and connects to it. Each call is a connection of its own.
    fn join(&self) -> BoxFuture<'static, Result<Connection, JoinFailure>>;

    /// What the control plane says of the sandbox.
    fn state(&self) -> BoxFuture<'static, SandboxState>;

    /// Ends a process that the supervisor may not end, since it belongs to another user.
    ///
    /// The error is a sentence: why not.
    fn end_process(&self, pid: u32, start_time: u64) -> BoxFuture<'static, Result<(), String>>;

    /// Signals processes, by id and start, that the supervisor may not signal, since they belong to another user.
    ///
    /// The error is a sentence: why not.
    fn signal_processes(&self, signal: u8, members: Vec<(u32, u64)>) -> BoxFuture<'static, Result<(), String>>;

    /// The supervisor has ended for good: what brought it there is not needed any more.
    fn farewell(&self) -> BoxFuture<'static, ()>;
}

/// A connection. Dropping it closes it.
pub struct Connection {
    /// What the supervisor says.
    pub incoming: Box<dyn Incoming>,
    /// The way up that costs nothing by the message.
    pub streaming: Arc<dyn Outgoing>,
    /// Resolves when that way can't be used any more, with a sentence: why.
    pub streaming_over: BoxFuture<'static, String>,
    /// The way up where each message is a request, which the daemon logs.
    pub unary: Arc<dyn Outgoing>,
}

/// The supervisor's bytes.
pub trait Incoming: Send {
    /// The next bytes, when they are there.
    ///
    /// The error is a sentence: why the connection is over.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Bytes, String>>;
}

/// A way to the supervisor.
pub trait Outgoing: Send + Sync {
    /// Takes a message; waits while there is no room. Messages are sent one after the other.
    ///
    /// The error is a sentence: why it can't be used any more.
    fn send(self: Arc<Self>, message: Bytes) -> BoxFuture<'static, Result<(), String>>;
}

/// Why a connection could not be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinFailure {
    /// A sentence, without secrets.
    pub message: String,
    /// Whether another attempt is of no use.
    pub is_final: bool,
}

/// What the control plane says of a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxState {
    /// It runs.
    Running,
    /// It is paused: it can come back, and the time does not count.
    Paused,
    /// It does not exist.
    Gone,
    /// There was no answer.
    Unknown,
}
