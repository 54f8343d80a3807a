//! `Connect`.

use envd_api::process::{ConnectRequest, ConnectResponse, ProcessEvent};
use futures_util::stream;

use super::events::{self, events};
use crate::envd::connect::{Call, Error, Stream};

/// Streams the events of a running process from now on, after a start event. For one that has just
/// ended: the start and the end, without output.
///
/// # Errors
/// `not_found`, or `unimplemented` when the request names no process.
pub async fn connect(call: Call, request: ConnectRequest) -> Result<Stream<ConnectResponse>, Error> {
    let selector = request.process.as_ref();
    match call.sandbox.processes.find(selector) {
        Ok(process) => {
            let output = process.output.listen();
            Ok(events(process, output, call.keepalive, response))
        }
        Err(missing) => {
            let ended = call.sandbox.processes.find_ended(selector).ok_or(missing)?;
            let both = [events::start(ended.pid), events::end(ended.end)];
            Ok(Box::pin(stream::iter(both.map(|event| Ok(response(event))))))
        }
    }
}

fn response(event: ProcessEvent) -> ConnectResponse {
    ConnectResponse { event: Some(event) }
}
