//! The server's answer as tonic wants it: enveloped messages, then trailers.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{Buf as _, Bytes, BytesMut};
use http::{HeaderMap, HeaderValue};
use http_body::{Body, Frame};
use tonic::{Code, Status};

use super::{MAX_MESSAGE, end, envelope};
use crate::envd::{error::Cause, http::describe};

/// An end frame holds an error text, no data.
const MAX_END: usize = 64 << 10;

/// An answer in the shape of gRPC.
pub(crate) enum ResponseBody {
    /// A unary message, put back into an envelope: what is left to give.
    Unary(std::vec::IntoIter<Bytes>, bool),
    /// A stream.
    Stream(Envelopes),
}

impl ResponseBody {
    /// A unary answer.
    pub(super) fn unary(message: Bytes) -> Result<Self, Status> {
        let header = envelope::plain(message.len()).ok_or_else(|| protocol("an answer too large for an envelope"))?;
        Ok(Self::Unary(vec![Bytes::copy_from_slice(&header), message].into_iter(), false))
    }

    /// A streamed answer.
    pub(super) fn stream(body: reqwest::Body) -> Self {
        Self::Stream(Envelopes {
            body,
            chunk: Bytes::new(),
            state: State::Header { bytes: [0; envelope::LEN], have: 0 },
        })
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        match self.get_mut() {
            Self::Unary(parts, ended) => Poll::Ready(match parts.next() {
                Some(part) => Some(Ok(Frame::data(part))),
                None if !std::mem::replace(ended, true) => Some(Ok(Frame::trailers(clean_end()))),
                None => None,
            }),
            Self::Stream(envelopes) => envelopes.poll_frame(cx),
        }
    }
}

/// Follows the envelopes of a stream: passes plain messages on as they came, without copying, and turns the end frame into trailers.
pub(crate) struct Envelopes {
    body: reqwest::Body,
    chunk: Bytes,
    state: State,
}

enum State {
    /// Within an envelope, of which `have` bytes are known.
    Header { bytes: [u8; envelope::LEN], have: usize },
    /// Within a plain message.
    Message { left: usize },
    /// Within the end frame, its envelope included.
    End(BytesMut),
    /// After the end, or after a failure.
    Done,
}

impl Envelopes {
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        loop {
            if matches!(self.state, State::Done) {
                return Poll::Ready(None);
            }
            if self.chunk.is_empty() {
                match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                    Some(Ok(frame)) => self.chunk = frame.into_data().unwrap_or_default(),
                    Some(Err(error)) => return self.fail(transport(&error)),
                    None => return self.fail(broken_off("the stream ended without its end frame")),
                }
                continue;
            }
            match self.advance() {
                Ok(Some(frame)) => {
                    if frame.is_trailers() {
                        // The connection can be used again only when its body is read to the end; often that is there already.
                        let _ = Pin::new(&mut self.body).poll_frame(cx);
                    }
                    return Poll::Ready(Some(Ok(frame)));
                }
                Ok(None) => {}
                Err(status) => return self.fail(status),
            }
        }
    }

    fn fail(&mut self, status: Status) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        self.state = State::Done;
        self.chunk.clear();
        Poll::Ready(Some(Err(status)))
    }

    /// Takes what it can from the chunk.
    fn advance(&mut self) -> Result<Option<Frame<Bytes>>, Status> {
        let plain = self.plain_prefix()?;
        if plain > 0 {
            return Ok(Some(Frame::data(self.chunk.split_to(plain))));
        }
        let State::End(end) = &mut self.state else { return Ok(None) };
        let want = match end.first_chunk::<{ envelope::LEN }>() {
            None => envelope::LEN,
            Some(header) => {
                let length = envelope::length(*header);
                if length > MAX_END {
                    return Err(protocol("an end frame that is too large"));
                }
                envelope::LEN + length
            }
        };
        let take = (want - end.len()).min(self.chunk.len());
        end.extend_from_slice(&self.chunk[..take]);
        self.chunk.advance(take);
        let Some(header) = end.first_chunk::<{ envelope::LEN }>() else { return Ok(None) };
        if end.len() < envelope::LEN + envelope::length(*header) {
            return Ok(None);
        }
        let outcome = end::of_end_frame(&end[envelope::LEN..]);
        self.state = State::Done;
        outcome.map(|()| Some(Frame::trailers(clean_end())))
    }

    /// How many bytes at the start of the chunk belong to plain messages and their envelopes.
    fn plain_prefix(&mut self) -> Result<usize, Status> {
        let mut at = 0;
        while let Some(flags) = self.chunk.get(at).copied() {
            match &mut self.state {
                State::Header { have: 0, .. } if flags != 0 => {
                    if flags & envelope::COMPRESSED != 0 {
                        return Err(protocol("a compressed frame, which was not asked for"));
                    }
                    if flags != envelope::END {
                        return Err(protocol(format!("a frame with unknown flags {flags:#04x}")));
                    }
                    self.state = State::End(BytesMut::new());
                    break;
                }
                State::Header { bytes, have } => {
                    let take = (envelope::LEN - *have).min(self.chunk.len() - at);
                    bytes[*have..*have + take].copy_from_slice(&self.chunk[at..at + take]);
                    *have += take;
                    at += take;
                    if *have == envelope::LEN {
                        let left = envelope::length(*bytes);
                        if left > MAX_MESSAGE {
                            return Err(protocol(format!(
                                "a message of {left} bytes; at most {MAX_MESSAGE} are taken"
                            )));
                        }
                        self.state = State::message(left);
                    }
                }
                State::Message { left } => {
                    let take = (*left).min(self.chunk.len() - at);
                    at += take;
                    self.state = State::message(*left - take);
                }
                State::End(_) | State::Done => break,
            }
        }
        Ok(at)
    }
}

impl State {
    fn message(left: usize) -> Self {
        if left == 0 { Self::Header { bytes: [0; envelope::LEN], have: 0 } } else { Self::Message { left } }
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

fn broken_off(message: &str) -> Status {
    Cause::Transport { unsent: false }.status(Code::Unavailable, message)
}

#[cfg(test)]
#[path = "response_tests.rs"]
mod tests;
