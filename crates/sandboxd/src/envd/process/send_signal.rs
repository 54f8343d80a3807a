//! `SendSignal`.

use envd_api::process::{SendSignalRequest, SendSignalResponse, Signal};

use crate::envd::connect::{Call, Error};

/// Sends SIGTERM or SIGKILL to the process itself. From then on its end doesn't wait for the end of
/// its output, even if it ignores the signal.
///
/// # Errors
/// `not_found`; `unimplemented` for any other signal; `internal` when the process has just ended.
pub async fn send_signal(call: Call, request: SendSignalRequest) -> Result<SendSignalResponse, Error> {
    let process = call.sandbox.processes.find(request.process.as_ref())?;
    let signal = match Signal::try_from(request.signal) {
        Ok(Signal::Sigkill) => rustix::process::Signal::KILL,
        Ok(Signal::Sigterm) => rustix::process::Signal::TERM,
        Ok(Signal::Unspecified) | Err(_) => {
            return Err(Error::unimplemented(format!("invalid signal: {}", request.signal)));
        }
    };
    process.cut.cancel();
    process.signal(signal).map_err(|error| Error::internal(format!("error sending signal: {error}")))?;
    Ok(SendSignalResponse {})
}
