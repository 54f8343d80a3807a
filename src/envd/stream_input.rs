//! `Process.StreamInput`: bytes to a program's stdin over one long request.

use std::{future::Future, time::Duration};

use bytes::Bytes;
use envd_api::process::{
    ProcessInput, ProcessSelector, StreamInputRequest, process_input, process_selector, stream_input_request as wire,
};
use futures_util::stream::{self, StreamExt as _};
use tokio::sync::{mpsc, oneshot};

use super::{
    client::{Envd, with_client},
    error::Error,
};

/// Parts waiting to be written; the writer waits when there are more.
const QUEUE: usize = 16;
/// After the sink is gone the daemon gets this long to answer, then the request is dropped.
const FAREWELL: Duration = Duration::from_secs(5);

/// The writing end. Dropping it ends the request; the program's stdin stays open.
#[derive(Debug)]
pub struct InputSink {
    parts: mpsc::Sender<Bytes>,
    /// Its loss tells the request's task that no part will follow.
    _open: oneshot::Sender<()>,
}

impl InputSink {
    /// Queues bytes, in order; waits while the queue is full. Queued is not delivered: only the program itself can confirm that.
    /// Keep parts at 256 KiB or less; the queue holds up to 16 of them.
    ///
    /// # Errors
    /// Gives the bytes back when the request is over; its outcome says why.
    pub async fn send(&self, bytes: Bytes) -> Result<(), Bytes> {
        self.parts.send(bytes).await.map_err(|refused| refused.0)
    }
}

/// How the request ended. A daemon tells an error (an unknown process, say) only after the sink is gone or 256 KiB were sent:
/// watch this, never wait for it.
#[derive(Debug)]
pub struct InputOutcome(oneshot::Receiver<Result<(), Error>>);

impl Future for InputOutcome {
    type Output = Result<(), Error>;

    fn poll(mut self: std::pin::Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> std::task::Poll<Self::Output> {
        std::pin::Pin::new(&mut self.0).poll(cx).map(|outcome| {
            outcome.unwrap_or_else(|_| {
                Err(Error::Transport { unsent: false, message: "the input stream was dropped".into() })
            })
        })
    }
}

impl Envd {
    /// Opens an input stream to the process with this id, on a connection of its own. Opens nothing before it is polled by the
    /// runtime and waits for nothing: parts may be sent at once.
    pub fn stream_input(&self, pid: u32) -> (InputSink, InputOutcome) {
        let (parts, queue) = mpsc::channel(QUEUE);
        let (open, mut closed) = oneshot::channel();
        let (outcome, result) = oneshot::channel();
        let envd = self.clone();
        tokio::spawn(async move {
            let call = envd.run_stream_input(pid, queue);
            tokio::pin!(call);
            let ended = tokio::select! {
                ended = &mut call => ended,
                _ = &mut closed => tokio::time::timeout(FAREWELL, call)
                    .await
                    .unwrap_or(Err(Error::Timeout(FAREWELL, "closing an input stream"))),
            };
            // Nobody may be watching.
            let _ = outcome.send(ended);
        });
        (InputSink { parts, _open: open }, InputOutcome(result))
    }

    async fn run_stream_input(&self, pid: u32, queue: mpsc::Receiver<Bytes>) -> Result<(), Error> {
        let messages = stream::once(std::future::ready(start(pid)))
            .chain(stream::unfold(queue, |mut queue| async { queue.recv().await.map(|bytes| (data(bytes), queue)) }));
        // Its codec is settled by the start that came before: a stream cannot be sent twice.
        let service = self.service(&self.lanes().up, self.codec());
        with_client!(process::process_client::ProcessClient, service, client => client.stream_input(messages).await)
            .map(drop)
            .map_err(|status| self.error(status))
    }
}

/// The process with this id. Never by tag: the daemon's look-up by tag stops at the first process with another one.
pub(super) fn by_pid(pid: u32) -> Option<ProcessSelector> {
    Some(ProcessSelector { selector: Some(process_selector::Selector::Pid(pid)) })
}

/// Bytes for stdin.
pub(super) fn stdin(bytes: Bytes) -> Option<ProcessInput> {
    Some(ProcessInput { input: Some(process_input::Input::Stdin(bytes)) })
}

fn start(pid: u32) -> StreamInputRequest {
    StreamInputRequest { event: Some(wire::Event::Start(wire::StartEvent { process: by_pid(pid) })) }
}

fn data(bytes: Bytes) -> StreamInputRequest {
    StreamInputRequest { event: Some(wire::Event::Data(wire::DataEvent { input: stdin(bytes) })) }
}
