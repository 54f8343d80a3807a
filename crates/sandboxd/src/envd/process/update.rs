//! `Update`.

use envd_api::process::{UpdateRequest, UpdateResponse};

use super::input::Input;
use crate::envd::connect::{Call, Error};

/// Resizes a process's terminal; without a size there is nothing to do.
///
/// # Errors
/// `not_found`; `internal` for a process without terminal.
pub async fn update(call: Call, request: UpdateRequest) -> Result<UpdateResponse, Error> {
    let process = call.sandbox.processes.find(request.process.as_ref())?;
    if let Some(pty) = request.pty {
        let size = pty.size.unwrap_or_default();
        match &process.input {
            Input::Terminal(terminal, _) => {
                terminal.resize(&size).map_err(|error| Error::internal(format!("error resizing tty: {error}")))?
            }
            Input::Pipe(_) => return Err(Error::internal("error resizing tty: tty not assigned to process")),
        }
    }
    Ok(UpdateResponse {})
}
