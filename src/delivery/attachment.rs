//! The byte streams to a running supervisor.

use std::task::{Context, Poll, ready};

use bytes::Bytes;

use crate::envd::{Envd, Error, Event, InputOutcome, InputSink, Output};

use super::{error::DeliveryError, stderr_tail::StderrTail};

/// A `join` that has spoken. Dropping it (its output, that is) closes the stream; the resident supervisor lives on.
#[derive(Debug)]
pub struct Attachment {
    /// The process id of the `join` in the sandbox.
    pub pid: u32,
    /// What the supervisor says, from its first byte.
    pub output: SupervisorOutput,
    envd: Envd,
}

impl Attachment {
    pub(super) fn new(envd: Envd, pid: u32, output: Output, stderr: StderrTail) -> Self {
        Self { pid, output: SupervisorOutput { output, stderr }, envd }
    }

    /// Opens the way up that costs no request a message. Whether the server has it shows only in an answer of the supervisor.
    pub fn stream_input(&self) -> (InputSink, InputOutcome) {
        self.envd.stream_input(self.pid)
    }

    /// The way up where every message is a request, which the daemon logs.
    pub fn unary_input(&self) -> UnaryInput {
        UnaryInput { envd: self.envd.clone(), pid: self.pid }
    }
}

/// What the supervisor says.
#[derive(Debug)]
pub struct SupervisorOutput {
    output: Output,
    stderr: StderrTail,
}

impl SupervisorOutput {
    /// The next bytes, never none.
    ///
    /// # Errors
    /// The connection is over: [`DeliveryError::Ended`] with the last of its stderr when the `join` ended, else what the network said.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Bytes, DeliveryError>> {
        loop {
            match ready!(self.output.poll_next(cx))? {
                Some(Event::Stdout(bytes)) if bytes.is_empty() => {}
                Some(Event::Stdout(bytes)) => return Poll::Ready(Ok(bytes)),
                Some(Event::Stderr(bytes)) => self.stderr.push(&bytes),
                Some(Event::Ended(ended)) => {
                    return Poll::Ready(Err(DeliveryError::Ended {
                        exit_code: ended.exit_code,
                        status: ended.status,
                        stderr: self.stderr.text(),
                    }));
                }
                None => return Poll::Ready(Err(DeliveryError::over())),
            }
        }
    }
}

/// Sends each message in a request of its own.
#[derive(Clone, Debug)]
pub struct UnaryInput {
    envd: Envd,
    pid: u32,
}

impl UnaryInput {
    /// Sends a message; returns when the `join`'s pipe has taken it. Send the next one only then: overlapping calls have no order.
    ///
    /// # Errors
    /// After an error that is not `unsent` the message may have arrived, in part too.
    pub async fn send(&self, bytes: Bytes) -> Result<(), Error> {
        self.envd.send_input(self.pid, bytes).await
    }
}
