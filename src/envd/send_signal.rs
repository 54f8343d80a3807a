//! `Process.SendSignal`, to end what we started ourselves to deliver the supervisor.

use envd_api::process::{SendSignalRequest, Signal};

use super::{
    client::{Envd, with_client},
    error::Error,
    stream_input::by_pid,
};

impl Envd {
    /// Kills the process with this id, and it alone. Not for a user's program: the daemon stops reading its pipes, so the tail of the
    /// output is lost.
    ///
    /// # Errors
    /// [`Error::NotFound`] when it has ended already; [`Error`].
    pub async fn kill(&self, pid: u32) -> Result<(), Error> {
        let message = SendSignalRequest { process: by_pid(pid), signal: Signal::Sigkill.into() };
        let call = self.negotiate(|codec| {
            let (service, message) = (self.service(&self.lanes().calls, codec), message.clone());
            async { with_client!(process::process_client::ProcessClient, service, client => client.send_signal(message).await) }
        });
        self.in_time("killing a process", call).await.map(drop)
    }
}
