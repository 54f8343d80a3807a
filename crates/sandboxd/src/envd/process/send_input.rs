//! `SendInput`.

use envd_api::process::{SendInputRequest, SendInputResponse};

use crate::envd::connect::{Call, Error};

/// Writes one piece of input; answers when the process's pipe or terminal has taken all of it.
///
/// # Errors
/// `not_found`; others as those of the write.
pub async fn send_input(call: Call, request: SendInputRequest) -> Result<SendInputResponse, Error> {
    let process = call.sandbox.processes.find(request.process.as_ref())?;
    process.input.write(request.input).await?;
    Ok(SendInputResponse {})
}
