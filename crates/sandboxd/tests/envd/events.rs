//! The frames of a streaming response, read independently of the daemon's own code.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde_json::Value;

use crate::daemon::soon;

/// A stream of messages that has to end with an end frame.
pub struct Events {
    body: Incoming,
    buffer: Vec<u8>,
    end: Option<Value>,
}

/// What a process did until its end.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    pub stdout: String,
    pub stderr: String,
    pub terminal: String,
    pub exit_code: i64,
    pub exited: bool,
    pub status: String,
}

impl Events {
    pub fn new(body: Incoming) -> Self {
        Self { body, buffer: Vec::new(), end: None }
    }

    /// The next message, or `None` after the end frame.
    pub async fn next(&mut self) -> Option<Value> {
        let frame = self.frame().await;
        match frame {
            (0, message) => Some(message),
            (2, end) => {
                self.end = Some(end);
                None
            }
            (flags, message) => panic!("flags {flags}: {message}"),
        }
    }

    /// The end frame's error code; panics when the stream ended cleanly or goes on.
    pub async fn error(&mut self) -> String {
        let next = self.next().await;
        assert_eq!(next, None, "a message instead of the end");
        let end = self.end.clone().expect("end frame");
        end["error"]["code"].as_str().unwrap_or_else(|| panic!("clean end: {end}")).to_owned()
    }

    /// Reads to the clean end of a process's events.
    pub async fn outcome(&mut self) -> Outcome {
        let mut outcome = Outcome::default();
        while let Some(message) = self.next().await {
            let event = &message["event"];
            for (channel, text) in
                [("stdout", &mut outcome.stdout), ("stderr", &mut outcome.stderr), ("pty", &mut outcome.terminal)]
            {
                if let Some(data) = event["data"][channel].as_str() {
                    let bytes = STANDARD.decode(data).expect("base64");
                    text.push_str(&String::from_utf8_lossy(&bytes));
                }
            }
            if let Some(end) = event.get("end") {
                outcome.exit_code = end["exitCode"].as_i64().unwrap_or(0);
                outcome.exited = end["exited"].as_bool().unwrap_or(false);
                outcome.status = end["status"].as_str().unwrap_or_default().to_owned();
            }
        }
        assert_eq!(self.end, Some(serde_json::json!({})), "clean end");
        outcome
    }

    async fn frame(&mut self) -> (u8, Value) {
        loop {
            if let Some((prefix, rest)) = self.buffer.split_first_chunk::<5>() {
                let length = u32::from_be_bytes([prefix[1], prefix[2], prefix[3], prefix[4]]) as usize;
                if rest.len() >= length {
                    let message = serde_json::from_slice(&rest[..length]).expect("JSON");
                    let flags = prefix[0];
                    self.buffer.drain(..5 + length);
                    return (flags, message);
                }
            }
            let frame = soon("frame", self.body.frame()).await.expect("no end frame").expect("frame");
            self.buffer.extend(frame.into_data().expect("data"));
        }
    }
}
