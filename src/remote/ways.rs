//! The daemon's streams as a session wants them.

use std::{
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::future::{BoxFuture, FutureExt as _};

use crate::{
    delivery::{SupervisorOutput, UnaryInput},
    envd::InputSink,
    session::connector::{Incoming, Outgoing},
};

/// What the supervisor says.
pub struct Down(pub SupervisorOutput);

impl Incoming for Down {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Bytes, String>> {
        self.0.poll_next(cx).map_err(|error| error.to_string())
    }
}

/// One long request.
pub struct StreamingWay(pub InputSink);

impl Outgoing for StreamingWay {
    fn send(self: Arc<Self>, message: Bytes) -> BoxFuture<'static, Result<(), String>> {
        async move { self.0.send(message).await.map_err(|_| "the input stream is over".to_owned()) }.boxed()
    }
}

/// A request a message.
pub struct UnaryWay(pub UnaryInput);

impl Outgoing for UnaryWay {
    fn send(self: Arc<Self>, message: Bytes) -> BoxFuture<'static, Result<(), String>> {
        async move { self.0.send(message).await.map_err(|error| error.to_string()) }.boxed()
    }
}
