//! What a started program writes. Nothing is read ahead: a stream that nobody asks holds back the program.

use std::{
    fmt,
    future::poll_fn,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use envd_api::process::{StartResponse, process_event, process_event::data_event};

use super::{client::Envd, connect::Messages, error::Error};

/// After the end of the program the server gets this long to end the stream, then the connection is not used again.
const FAREWELL: Duration = Duration::from_secs(1);

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

/// The events of one program. Dropping it closes the stream at once: one that is open and that nobody reads would block every other
/// reader of the program.
pub struct Output {
    envd: Envd,
    messages: Option<Messages<StartResponse>>,
    first: Option<Event>,
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Output").field("open", &self.messages.is_some()).finish_non_exhaustive()
    }
}

impl Output {
    pub(super) fn new(envd: Envd, messages: Messages<StartResponse>) -> Self {
        Self { envd, messages: Some(messages), first: None }
    }

    /// The next event; `None` after [`Event::Ended`]. May be dropped while waiting without losing an event.
    ///
    /// # Errors
    /// When the stream breaks before the end of the program was told; then it is over.
    pub async fn next(&mut self) -> Result<Option<Event>, Error> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// The same, for whoever waits for more than this.
    ///
    /// # Errors
    /// As [`Output::next`].
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Event>, Error>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Ok(Some(first)));
        }
        loop {
            let Some(messages) = &mut self.messages else { return Poll::Ready(Ok(None)) };
            let error = match ready!(messages.poll_next(cx)) {
                Some(Ok(message)) => match event_of(message) {
                    Some(event) => {
                        if matches!(event, Event::Ended(_)) {
                            self.part();
                        }
                        return Poll::Ready(Ok(Some(event)));
                    }
                    None => continue,
                },
                None => Error::Transport { unsent: false, message: "the stream ended before the process".into() },
                Some(Err(status)) => self.envd.error(status),
            };
            self.messages = None;
            return Poll::Ready(Err(error));
        }
    }

    /// Puts an event back, to be the next one.
    pub fn put_back(&mut self, event: Event) {
        self.first = Some(event);
    }

    /// Reads up to the end frame, so that the connection can be used again.
    fn part(&mut self) {
        let Some(mut messages) = self.messages.take() else { return };
        tokio::spawn(async move {
            let _ = tokio::time::timeout(FAREWELL, messages.next()).await;
        });
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
