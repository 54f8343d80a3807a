//! `Process.SendInput`: bytes to a program's stdin in a request of their own, for servers without `StreamInput`.

use bytes::Bytes;
use envd_api::process::SendInputRequest;

use super::{
    client::{Envd, with_client},
    error::Error,
    stream_input::{by_pid, stdin},
};

impl Envd {
    /// Writes `bytes` to the process' stdin; returns when its pipe has taken them. The daemon logs them. Calls that overlap have no
    /// order. Never repeated by itself: after an error that is not `unsent` the bytes may have arrived, in part too.
    ///
    /// # Errors
    /// [`Error`]; [`Error::Timeout`] also when the process does not read.
    pub async fn send_input(&self, pid: u32, bytes: Bytes) -> Result<(), Error> {
        let message = SendInputRequest { process: by_pid(pid), input: stdin(bytes) };
        let call = self.negotiate(|codec| {
            let (service, message) = (self.service(&self.lanes().calls, codec), message.clone());
            async { with_client!(process::process_client::ProcessClient, service, client => client.send_input(message).await) }
        });
        self.in_time("writing to a process", call).await.map(drop)
    }
}
