//! `Start`.

use std::{fs, io, sync::Arc};

use envd_api::process::{ProcessEvent, StartRequest, StartResponse};
use tokio::{sync::mpsc, time::Instant};

use super::{
    arguments::Arguments,
    environment::environment,
    events::events,
    fanout::Chunk,
    running::Process,
    spawn::{Spawned, Streams, spawn},
    supervise::supervise,
};
use crate::envd::{
    account::Account,
    connect::{Call, Error, Stream},
    path,
};

/// Starts a process and streams its events. The process lives on when the client leaves; it is
/// killed when the call's timeout has passed.
///
/// # Errors
/// `unauthenticated` for an unknown user; `invalid_argument` for a directory that doesn't exist or
/// can't be entered, and for what the system refuses to start.
pub async fn start(call: Call, request: StartRequest) -> Result<Stream<StartResponse>, Error> {
    let account = call.user()?;
    let keepalive = call.keepalive;
    // Forking blocks. And once begun it has to be finished: the closure runs on if the client leaves.
    let (process, output) = tokio::task::spawn_blocking(move || launch(&call, account, request))
        .await
        .map_err(|error| Error::internal(format!("starting failed: {error}")))??;
    Ok(events(process, output, keepalive, response))
}

fn response(event: ProcessEvent) -> StartResponse {
    StartResponse { event: Some(event) }
}

fn launch(
    call: &Call,
    account: Account,
    request: StartRequest,
) -> Result<(Arc<Process>, mpsc::Receiver<Chunk>), Error> {
    let deadline = call.timeout.filter(|timeout| !timeout.is_zero()).map(|timeout| Instant::now() + timeout);
    let config = request.process.unwrap_or_default();
    let default = call.sandbox.defaults().directory;
    let directory = path::resolve(config.cwd(), &account, default.as_deref()).map_err(Error::invalid_argument)?;
    if fs::metadata(&directory).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        return Err(Error::invalid_argument(format!("cwd '{}' does not exist", directory.display())));
    }

    let refused = |error: &dyn std::fmt::Display| {
        Error::invalid_argument(format!("error starting process '{}': {error}", command_line(&config)))
    };
    let variables = environment(&account, call.sandbox.variables(), &config.envs);
    let arguments = Arguments::new(&config.cmd, &config.args, &variables).map_err(|_| {
        // The error of the conversion holds the string, which may be a secret.
        refused(&"a zero byte in the command, an argument or a variable")
    })?;
    let size = request.pty.map(|pty| pty.size.unwrap_or_default());
    let streams = match &size {
        Some(size) => Streams::Terminal(size),
        None => Streams::Pipes { stdin: request.stdin != Some(false) },
    };
    let Spawned { pid, pidfd, input, output } =
        spawn(arguments, &directory, &account, &streams).map_err(|error| refused(&error))?;
    let process = Process::new(pid, pidfd, input, request.tag, config)
        .map(Arc::new)
        .map_err(|error| Error::internal(format!("watching process {pid}: {error}")))?;

    // Listening comes before the first read, so that no output is missed.
    let listener = process.output.listen();
    call.sandbox.processes.add(process.clone());
    tokio::spawn(supervise(call.sandbox.clone(), process.clone(), output, deadline));
    tracing::info!(pid, command = process.config.cmd, "process started");
    Ok((process, listener))
}

fn command_line(config: &envd_api::process::ProcessConfig) -> String {
    std::iter::once(&config.cmd).chain(&config.args).cloned().collect::<Vec<_>>().join(" ")
}
