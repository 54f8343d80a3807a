//! `process.Process/Start` in its JSON form, as far as tests need it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::{Buf, Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::{Value, json};

use super::http::open;

/// A started command and its stream of events.
pub struct Running {
    body: Incoming,
    buffer: BytesMut,
    /// Its process id inside.
    pub pid: u64,
}

/// A message in its envelope.
pub fn envelope(value: &Value) -> Bytes {
    let text = value.to_string();
    let mut frame = vec![0];
    frame.extend(u32::try_from(text.len()).unwrap().to_be_bytes());
    frame.extend(text.as_bytes());
    frame.into()
}

/// Starts `sh -c SCRIPT` as `user`.
pub async fn start(edge: &str, sandbox: &str, user: &str, script: &str) -> Running {
    let authorization = format!("Basic {}", STANDARD.encode(format!("{user}:")));
    let headers = [
        ("e2b-sandbox-id", sandbox),
        ("e2b-sandbox-port", "49983"),
        ("content-type", "application/connect+json"),
        ("connect-protocol-version", "1"),
        ("authorization", &authorization),
    ];
    let message = envelope(&json!({"process": {"cmd": "/bin/sh", "args": ["-c", script]}, "stdin": true}));
    let response = open(edge, "POST", "/process.Process/Start", &headers, message).await.unwrap();
    assert_eq!(response.status(), 200, "{response:?}");
    let mut running = Running { body: response.into_body(), buffer: BytesMut::new(), pid: 0 };
    let first = running.event().await.unwrap().unwrap();
    running.pid = first["event"]["start"]["pid"].as_u64().unwrap_or_else(|| panic!("no start event: {first}"));
    running
}

impl Running {
    /// The next message; `None` at the end of the body.
    pub async fn event(&mut self) -> hyper::Result<Option<Value>> {
        loop {
            if self.buffer.len() >= 5 {
                let length = usize::try_from(u32::from_be_bytes(self.buffer[1..5].try_into().unwrap())).unwrap();
                if self.buffer.len() >= 5 + length {
                    self.buffer.advance(5);
                    return Ok(Some(serde_json::from_slice(&self.buffer.split_to(length)).unwrap()));
                }
            }
            let Some(frame) = self.body.frame().await else { return Ok(None) };
            if let Some(data) = frame?.data_ref() {
                self.buffer.extend_from_slice(data);
            }
        }
    }

    /// The next piece of output.
    pub async fn output(&mut self) -> String {
        loop {
            let event = self.event().await.unwrap().expect("the stream ended");
            for name in ["stdout", "stderr"] {
                if let Some(text) = event["event"]["data"][name].as_str() {
                    return String::from_utf8(STANDARD.decode(text).unwrap()).unwrap();
                }
            }
            assert!(event["event"]["end"].is_null(), "no more output: {event}");
        }
    }

    /// Exit code and all output.
    pub async fn finish(mut self) -> (i64, String) {
        let mut output = Vec::new();
        while let Some(event) = self.event().await.unwrap() {
            for name in ["stdout", "stderr"] {
                if let Some(text) = event["event"]["data"][name].as_str() {
                    output.extend(STANDARD.decode(text).unwrap());
                }
            }
            let end = &event["event"]["end"];
            if !end.is_null() {
                return (end["exitCode"].as_i64().unwrap_or(0), String::from_utf8_lossy(&output).into_owned());
            }
            assert!(event["error"].is_null(), "{event}");
        }
        panic!("the stream ended without an end event; output so far: {}", String::from_utf8_lossy(&output));
    }
}
