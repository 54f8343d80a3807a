//! `Process.Start`: one program in the sandbox, and what it writes.

use std::collections::HashMap;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use envd_api::process::{ProcessConfig, StartRequest, StartResponse, process_event::Event as Wire};
use http::{HeaderMap, HeaderValue, header};
use tonic::{Code, Status};

use super::{
    client::Envd,
    connect::{Codec, Messages},
    error::{Cause, Error},
    output::Output,
};

/// What to start. The daemon logs all of it: no secret belongs here.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// The program.
    pub cmd: String,
    /// Its arguments, without the program's name.
    pub args: Vec<String>,
    /// Working directory; the daemon's default when unset.
    pub cwd: Option<String>,
    /// Variables on top of the daemon's own.
    pub envs: HashMap<String, String>,
}

/// A started program.
#[derive(Debug)]
pub struct Started {
    /// Its id in the sandbox.
    pub pid: u32,
    /// What it writes, and its end. Dropping it closes the stream at once; the program lives on.
    pub output: Output,
}

impl Envd {
    /// Starts a program with a pipe as its stdin. Never repeated by itself: after an error that is not `unsent` it may be running.
    ///
    /// # Errors
    /// [`Error`]; [`Error::Timeout`] when the first event does not come. [`Error::Invalid`], [`Error::NotFound`] and [`Error::Remote`] are the
    /// daemon's own words.
    pub async fn start(&self, start: Start) -> Result<Started, Error> {
        let message = StartRequest {
            process: Some(ProcessConfig {
                cmd: start.cmd,
                args: start.args,
                envs: start.envs.into_iter().collect(),
                cwd: start.cwd,
            }),
            pty: None,
            tag: None,
            stdin: Some(true),
        };
        self.in_time("starting a process", async {
            let mut messages = self.negotiate(|codec| self.attempt_start(codec, &message)).await?;
            let first = messages.next().await.transpose().map_err(|status| self.error(status))?;
            let pid = match first.and_then(|message| message.event?.event) {
                Some(Wire::Start(start)) => start.pid,
                Some(_) => return Err(Error::Protocol("the first event of a process is not its start".into())),
                None => return Err(Error::Protocol("the stream of a process ended before its start".into())),
            };
            Ok(Started { pid, output: Output::new(self.clone(), messages) })
        })
        .await
    }

    async fn attempt_start(&self, codec: Codec, message: &StartRequest) -> Result<Messages<StartResponse>, Status> {
        let mut headers = HeaderMap::new();
        if let Some(user) = self.facts().start_user() {
            // Base64 is always a valid header value.
            if let Ok(value) = HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(format!("{user}:")))) {
                headers.insert(header::AUTHORIZATION, value);
            }
        }
        self.service(&self.lanes().down, codec).open("/process.Process/Start", message, headers).await.map_err(foreign)
    }
}

/// The daemon says in Connect's words why it starts nothing. A bare HTTP status comes from somebody in between, and says nothing of the
/// program.
fn foreign(status: Status) -> Status {
    match Cause::of(&status) {
        Some(cause @ Cause::Http(400)) => cause.status(Code::Unimplemented, status.message()),
        Some(cause @ Cause::Http(500..)) => cause.status(Code::Unavailable, status.message()),
        _ => status,
    }
}
