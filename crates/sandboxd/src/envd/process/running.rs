//! A process, from its start until nobody asks for it any more.

use std::{
    io,
    os::fd::{AsFd as _, OwnedFd},
    sync::Arc,
};

use envd_api::process::{ProcessConfig, process_event::EndEvent};
use rustix::process::{Signal, WaitId, WaitIdOptions, WaitIdStatus, pidfd_send_signal, waitid};
use tokio::{
    io::{Interest, unix::AsyncFd},
    sync::watch,
};
use tokio_util::sync::CancellationToken;

use super::{fanout::Fanout, input::Input};
use crate::envd::polled::polled;

/// One process of the sandbox.
pub struct Process {
    /// In the sandbox's pid namespace.
    pub pid: u32,
    /// What the client calls it; not unique.
    pub tag: Option<String>,
    /// As requested, not as executed.
    pub config: ProcessConfig,
    /// Who hears its output.
    pub output: Arc<Fanout>,
    /// Where input goes.
    pub input: Input,
    /// Ends the wait for the end of its output; the end of the process is then enough.
    pub cut: CancellationToken,
    /// Cancelled when it has ended and the system has forgotten its pid.
    pub gone: CancellationToken,
    /// How it ended; `None` as long as it runs.
    pub end: watch::Sender<Option<EndEvent>>,
    handle: AsyncFd<OwnedFd>,
}

impl Process {
    /// Takes charge of a process.
    ///
    /// # Errors
    /// The system's, when its handle can't be polled.
    pub fn new(
        pid: u32,
        handle: OwnedFd,
        input: Input,
        tag: Option<String>,
        config: ProcessConfig,
    ) -> io::Result<Self> {
        Ok(Self {
            pid,
            tag,
            config,
            input,
            output: Arc::new(Fanout::new()),
            cut: CancellationToken::new(),
            gone: CancellationToken::new(),
            end: watch::Sender::new(None),
            handle: polled(handle, Interest::READABLE)?,
        })
    }

    /// Sends a signal to the process itself, not to its descendants.
    ///
    /// # Errors
    /// The system's; `ESRCH` when it has ended and been waited for.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        Ok(pidfd_send_signal(self.handle.as_fd(), signal)?)
    }

    /// Waits for its end. Takes the status from the system, so only its supervision may call this.
    ///
    /// # Errors
    /// The system's.
    pub async fn ended(&self) -> io::Result<WaitIdStatus> {
        loop {
            let mut ready = self.handle.readable().await?;
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
            match waitid(WaitId::PidFd(self.handle.as_fd()), options)? {
                Some(status) => return Ok(status),
                None => ready.clear_ready(),
            }
        }
    }
}
