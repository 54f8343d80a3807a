//! `SendSignal`.

use std::time::Duration;

use envd_api::process::{SendSignalRequest, SendSignalResponse, Signal};
use tokio::time::timeout;

use crate::envd::connect::{Call, Error};

/// A killed process is gone within this time, unless the kernel is busy on its behalf.
const KILLED: Duration = Duration::from_secs(1);

/// Sends SIGTERM or SIGKILL to the process itself. From then on its end doesn't wait for the end of
/// its output, even if it ignores the signal. After SIGKILL this
/// answers when the process is gone, so that clients which look for its pid don't find it; the real
/// daemon leaves that to chance.
///
/// # Errors
/// `not_found`; `unimplemented` for any other signal; `internal` when the process has just ended.
pub async fn send_signal(call: Call, request: SendSignalRequest) -> Result<SendSignalResponse, Error> {
    let process = call.sandbox.processes.find(request.process.as_ref())?;
    let signal = match Signal::try_from(request.signal) {
        Ok(Signal::Sigkill) => rustix::process::Signal::KILL,
        Ok(Signal::Sigterm) => rustix::process::Signal::TERM,
        Ok(other) => return Err(Error::unimplemented(format!("invalid signal: {}", other.as_str_name()))),
        Err(_) => return Err(Error::unimplemented(format!("invalid signal: {}", request.signal))),
    };
    process.cut.cancel();
    process.signal(signal).map_err(|error| Error::internal(format!("error sending signal: {error}")))?;
    if signal == rustix::process::Signal::KILL {
        // The signal was sent; that it takes long is no failure.
        let _ = timeout(KILLED, process.gone.cancelled()).await;
    }
    Ok(SendSignalResponse {})
}
