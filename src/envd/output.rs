//! What a started program writes, read ahead by a bounded amount.

use std::sync::Arc;

use bytes::Bytes;
use envd_api::process::{StartResponse, process_event, process_event::data_event};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    task::JoinHandle,
};
use tonic::Streaming;

use super::{client::Envd, error::Error};

/// Read ahead at most this many bytes ...
const AHEAD_BYTES: u32 = 2 << 20;
/// ... in at most this many events.
const AHEAD_EVENTS: usize = 256;

/// One event of a program's stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Bytes of its stdout.
    Stdout(Bytes),
    /// Bytes of its stderr.
    Stderr(Bytes),
    /// Its end, after all output. Nothing follows.
    Ended(Ended),
}

/// How the daemon describes an end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The exit code; -1 (or 128 + n from some daemons) after a signal.
    pub exit_code: i32,
    /// Whether the program exited by itself.
    pub exited: bool,
    /// In words.
    pub status: String,
}

/// The events of one program.
#[derive(Debug)]
pub struct Output {
    events: mpsc::Receiver<(Result<Event, Error>, Option<OwnedSemaphorePermit>)>,
    first: Option<Event>,
    reader: JoinHandle<()>,
}

impl Output {
    pub(super) fn new(envd: Envd, stream: Streaming<StartResponse>) -> Self {
        let (sender, events) = mpsc::channel(AHEAD_EVENTS);
        Self { events, first: None, reader: tokio::spawn(read(envd, stream, sender)) }
    }

    /// The next event; `None` after [`Event::Ended`]. May be dropped while waiting without losing an event.
    ///
    /// # Errors
    /// When the stream breaks before the end of the program was told; then it is over.
    pub async fn next(&mut self) -> Result<Option<Event>, Error> {
        if let Some(first) = self.first.take() {
            return Ok(Some(first));
        }
        self.events.recv().await.map(|(event, _permit)| event).transpose()
    }

    /// Puts an event back, to be the next one.
    pub fn put_back(&mut self, event: Event) {
        self.first = Some(event);
    }
}

impl Drop for Output {
    /// Closes the stream at once: an open stream that nobody reads would block every other reader of the program.
    fn drop(&mut self) {
        self.reader.abort();
    }
}

async fn read(
    envd: Envd,
    mut stream: Streaming<StartResponse>,
    sender: mpsc::Sender<(Result<Event, Error>, Option<OwnedSemaphorePermit>)>,
) {
    let ahead = Arc::new(Semaphore::new(AHEAD_BYTES as usize));
    loop {
        let event = match stream.message().await {
            Ok(Some(message)) => match event_of(message) {
                Some(event) => Ok(event),
                None => continue,
            },
            Ok(None) => Err(Error::Transport { unsent: false, message: "the stream ended before the process".into() }),
            Err(status) => Err(envd.error(status)),
        };
        let last = !matches!(event, Ok(Event::Stdout(_) | Event::Stderr(_)));
        let permit = match &event {
            Ok(Event::Stdout(bytes) | Event::Stderr(bytes)) => {
                let weight = u32::try_from(bytes.len()).unwrap_or(AHEAD_BYTES).min(AHEAD_BYTES);
                ahead.clone().acquire_many_owned(weight).await.ok()
            }
            _ => None,
        };
        if sender.send((event, permit)).await.is_err() {
            return;
        }
        if last {
            // Reading up to the end frame lets the connection be used again.
            let _ = stream.message().await;
            return;
        }
    }
}

/// The event of a message; `None` for keep-alives and for events that a newer daemon may add.
fn event_of(message: StartResponse) -> Option<Event> {
    match message.event?.event? {
        process_event::Event::Data(data) => match data.output? {
            data_event::Output::Stdout(bytes) => Some(Event::Stdout(bytes)),
            data_event::Output::Stderr(bytes) => Some(Event::Stderr(bytes)),
            data_event::Output::Pty(_) => None,
        },
        process_event::Event::End(end) => {
            Some(Event::Ended(Ended { exit_code: end.exit_code, exited: end.exited, status: end.status }))
        }
        process_event::Event::Start(_) | process_event::Event::Keepalive(_) => None,
    }
}
