//! The connection, or the way to one.

use std::{future::poll_fn, sync::Arc};

use bytes::Bytes;
use futures_util::future::{BoxFuture, FutureExt as _};
use protocol::Time;

use super::{Happening, maybe};
use crate::session::connector::{Connection, Incoming, JoinFailure, Outgoing};

/// Where the session stands with its connection.
pub enum Line {
    /// There is none.
    Idle {
        /// When to try; `None`: not by itself.
        retry_at: Option<Time>,
    },
    /// One is being made.
    Joining {
        /// The attempt.
        attempt: BoxFuture<'static, Result<Connection, JoinFailure>>,
        /// When it began.
        since: Time,
        /// When it is not waited for any longer.
        give_up_at: Option<Time>,
    },
    /// There is one.
    Open(Open),
}

/// An open connection.
pub struct Open {
    incoming: Box<dyn Incoming>,
    streaming: Arc<dyn Outgoing>,
    streaming_over: Option<BoxFuture<'static, String>>,
    unary: Arc<dyn Outgoing>,
    sending: Option<BoxFuture<'static, Result<(), String>>>,
    /// How long it took to make: a round trip and more.
    pub effort: std::time::Duration,
    /// When to take the other way up, unless the supervisor has answered by then.
    pub fall_back_at: Option<Time>,
    /// What came before the supervisor said who it is; another link may have to hear it again.
    pub greeting: Option<Vec<Bytes>>,
}

impl Open {
    /// A fresh connection.
    pub fn new(connection: Connection, effort: std::time::Duration) -> Self {
        let Connection { incoming, streaming, streaming_over, unary } = connection;
        Self {
            incoming,
            streaming,
            streaming_over: Some(streaming_over),
            unary,
            sending: None,
            effort,
            fall_back_at: None,
            greeting: Some(Vec::new()),
        }
    }

    /// Whether a message can be given to it.
    pub fn is_free(&self) -> bool {
        self.sending.is_none()
    }

    /// Sends a message on one of the two ways. Returns at once whether it has gone already.
    pub fn send(&mut self, message: Bytes, unary: bool) -> Option<Result<(), String>> {
        let way = if unary { &self.unary } else { &self.streaming };
        let mut sending = Arc::clone(way).send(message);
        // Usually there is room, and no need to go through the scheduler.
        let outcome = (&mut sending).now_or_never();
        if outcome.is_none() {
            self.sending = Some(sending);
        }
        outcome
    }

    /// A message has gone.
    pub fn sent(&mut self) {
        self.sending = None;
    }

    /// The streaming way is not watched any longer.
    pub fn leave_streaming(&mut self) {
        self.streaming_over = None;
        self.sending = None;
    }

    async fn happening(&mut self) -> Happening {
        let Self { incoming, sending, streaming_over, .. } = self;
        tokio::select! {
            reason = maybe(streaming_over.as_mut()) => Happening::StreamingOver(reason),
            heard = poll_fn(|cx| incoming.poll_next(cx)) => Happening::Heard(heard),
            sent = maybe(sending.as_mut()) => Happening::Sent(sent),
        }
    }
}

impl Line {
    /// The next thing that happens on it.
    pub async fn happening(&mut self) -> Happening {
        match self {
            Self::Idle { .. } => std::future::pending().await,
            Self::Joining { attempt, .. } => Happening::Joined(attempt.await),
            Self::Open(open) => open.happening().await,
        }
    }

    /// When something is due.
    pub fn next_time(&self) -> Option<Time> {
        match self {
            Self::Idle { retry_at } => *retry_at,
            Self::Joining { give_up_at, .. } => *give_up_at,
            Self::Open(open) => open.fall_back_at,
        }
    }
}
