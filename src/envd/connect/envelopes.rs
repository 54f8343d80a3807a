//! The messages of a stream, each in one piece.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{Buf as _, Bytes, BytesMut};
use http_body::Body as _;
use tonic::{Code, Status};

use super::{
    MAX_MESSAGE, end,
    envelope::{self, Header},
    response::{protocol, transport},
};
use crate::envd::error::Cause;

/// An end frame holds an error text, no data.
const MAX_END: usize = 64 << 10;

/// Follows the envelopes of a body. A message that came in one piece is passed on without copying it.
pub(crate) struct Envelopes {
    body: reqwest::Body,
    chunk: Bytes,
    /// What came of the present header or payload when it is cut.
    part: BytesMut,
    state: State,
}

#[derive(Clone, Copy)]
enum State {
    /// Within an envelope, or before it.
    Header,
    /// Within a plain message of this length.
    Message(usize),
    /// Within the end frame, whose payload has this length.
    End(usize),
    /// After the end, or after a failure.
    Done,
}

impl Envelopes {
    /// The envelopes of `body`.
    pub(super) fn new(body: reqwest::Body) -> Self {
        Self { body, chunk: Bytes::new(), part: BytesMut::new(), state: State::Header }
    }

    /// The next message; `None` after an end frame without an error.
    pub(crate) fn poll_message(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Status>>> {
        loop {
            let want = match self.state {
                State::Header => envelope::LEN,
                State::Message(length) | State::End(length) => length,
                State::Done => return Poll::Ready(None),
            };
            let Some(whole) = self.take(want) else {
                match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                    Some(Ok(frame)) => self.chunk = frame.into_data().unwrap_or_default(),
                    Some(Err(error)) => return self.fail(transport(&error)),
                    None => {
                        let message = "the stream ended without its end frame";
                        return self.fail(Cause::Transport { unsent: false }.status(Code::Unavailable, message));
                    }
                }
                continue;
            };
            match self.state {
                State::Message(_) => {
                    self.state = State::Header;
                    return Poll::Ready(Some(Ok(whole)));
                }
                State::End(_) => {
                    self.state = State::Done;
                    // The connection can be used again only when its body is read to the end; often that is there already.
                    let _ = Pin::new(&mut self.body).poll_frame(cx);
                    return Poll::Ready(end::of_end_frame(&whole).err().map(Err));
                }
                _ => match after_header(&whole) {
                    Ok(state) => self.state = state,
                    Err(status) => return self.fail(status),
                },
            }
        }
    }

    /// Takes `want` bytes once that many came; until then it keeps what there is of them.
    fn take(&mut self, want: usize) -> Option<Bytes> {
        if self.part.is_empty() && self.chunk.len() >= want {
            return Some(self.chunk.split_to(want));
        }
        let missing = want - self.part.len();
        self.part.reserve(missing);
        let more = missing.min(self.chunk.len());
        self.part.extend_from_slice(&self.chunk[..more]);
        self.chunk.advance(more);
        (more == missing).then(|| self.part.split().freeze())
    }

    fn fail(&mut self, status: Status) -> Poll<Option<Result<Bytes, Status>>> {
        self.state = State::Done;
        self.chunk.clear();
        self.part = BytesMut::new();
        Poll::Ready(Some(Err(status)))
    }
}

/// What an envelope announces.
fn after_header(bytes: &[u8]) -> Result<State, Status> {
    let Header { flags, length } = envelope::parse(bytes).ok_or_else(|| protocol("a cut envelope"))?;
    match flags {
        0 if length <= MAX_MESSAGE => Ok(State::Message(length)),
        0 => Err(protocol(format!("a message of {length} bytes; at most {MAX_MESSAGE} are taken"))),
        envelope::END if length <= MAX_END => Ok(State::End(length)),
        envelope::END => Err(protocol("an end frame that is too large")),
        _ if flags & envelope::COMPRESSED != 0 => Err(protocol("a compressed frame, which was not asked for")),
        _ => Err(protocol(format!("a frame with unknown flags {flags:#04x}"))),
    }
}

#[cfg(test)]
#[path = "envelopes_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "hostile_tests.rs"]
mod hostile_tests;
