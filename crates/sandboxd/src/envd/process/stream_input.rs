//! `StreamInput`.

use std::sync::Arc;

use envd_api::process::{StreamInputRequest, StreamInputResponse, stream_input_request::Event};

use super::running::Process;
use crate::envd::connect::{Call, Error, Messages};

/// Writes pieces of input in order, each when the one before has been taken. The first message names
/// the process; a later one may name another.
///
/// # Errors
/// `not_found`; `unimplemented` for an empty message or data before a start; others as those of the
/// write and of the stream.
pub async fn stream_input(
    call: Call,
    mut messages: Messages<StreamInputRequest>,
) -> (Result<StreamInputResponse, Error>, Messages<StreamInputRequest>) {
    let result = write_all(&call, &mut messages).await;
    (result.map(|()| StreamInputResponse {}), messages)
}

async fn write_all(call: &Call, messages: &mut Messages<StreamInputRequest>) -> Result<(), Error> {
    let mut target: Option<Arc<Process>> = None;
    while let Some(message) = messages.next().await? {
        match (message.event, &target) {
            (Some(Event::Start(start)), _) => target = Some(call.sandbox.processes.find(start.process.as_ref())?),
            (Some(Event::Data(data)), Some(process)) => process.input.write(data.input).await?,
            (Some(Event::Data(_)), None) => return Err(Error::unimplemented("data before a start event")),
            (Some(Event::Keepalive(_)), _) => {}
            (None, _) => return Err(Error::unimplemented("invalid event type <nil>")),
        }
    }
    Ok(())
}
