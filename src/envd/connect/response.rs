//! The server's answer as tonic wants it: enveloped messages, then trailers.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue};
use http_body::{Body, Frame};
use tonic::{Code, Status};

use super::{envelope, envelopes::Envelopes};
use crate::envd::{error::Cause, http::describe};

/// An answer in the shape of gRPC.
pub(crate) struct ResponseBody {
    messages: Messages,
    /// The payload of the message whose envelope was given.
    payload: Option<Bytes>,
    ended: bool,
}

enum Messages {
    /// One, which came without an envelope.
    Unary(Option<Bytes>),
    Stream(Envelopes),
}

impl ResponseBody {
    /// A unary answer.
    pub(super) fn unary(message: Bytes) -> Self {
        Self { messages: Messages::Unary(Some(message)), payload: None, ended: false }
    }

    /// A streamed answer.
    pub(super) fn stream(body: reqwest::Body) -> Self {
        Self { messages: Messages::Stream(Envelopes::new(body)), payload: None, ended: false }
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = self.get_mut();
        if let Some(payload) = this.payload.take() {
            return Poll::Ready(Some(Ok(Frame::data(payload))));
        }
        if this.ended {
            return Poll::Ready(None);
        }
        let message = match &mut this.messages {
            Messages::Unary(message) => message.take().map(Ok),
            Messages::Stream(envelopes) => ready!(envelopes.poll_message(cx)),
        };
        this.ended = !matches!(message, Some(Ok(_)));
        Poll::Ready(Some(match message {
            Some(message) => message.and_then(|message| {
                let header = Bytes::copy_from_slice(&envelope::plain(message.len())?);
                this.payload = Some(message);
                Ok(Frame::data(header))
            }),
            None => Ok(Frame::trailers(clean_end())),
        }))
    }
}

/// The trailers of a call that went well.
fn clean_end() -> HeaderMap {
    HeaderMap::from_iter([(Status::GRPC_STATUS, HeaderValue::from_static("0"))])
}

/// A status for a peer that broke the protocol.
pub(super) fn protocol(message: impl Into<String>) -> Status {
    Cause::Protocol.status(Code::Internal, message)
}

/// A status for a connection that broke.
pub(super) fn transport(error: &reqwest::Error) -> Status {
    Cause::Transport { unsent: error.is_connect() }.status(Code::Unavailable, describe(error))
}
