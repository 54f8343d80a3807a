//! `CloseStdin`.

use envd_api::process::{CloseStdinRequest, CloseStdinResponse};

use crate::envd::connect::{Call, Error};

/// Closes a process's stdin, after what is being written.
///
/// # Errors
/// `not_found`; `unknown` for a process with a terminal.
pub async fn close_stdin(call: Call, request: CloseStdinRequest) -> Result<CloseStdinResponse, Error> {
    let process = call.sandbox.processes.find(request.process.as_ref())?;
    process.input.close().await?;
    Ok(CloseStdinResponse {})
}
