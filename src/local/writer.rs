//! A program's input: written as the program takes it.

use std::{io, os::fd::OwnedFd, sync::Arc, time::Duration};

use tokio::{
    io::{Interest, unix::AsyncFd},
    sync::Notify,
};

use super::watched::watch;
use crate::session::{command::Command, input::Left};

/// Bytes taken from the command at once.
const CHUNK: usize = 256 * 1024;
/// The same for a terminal, whose kernel takes a few thousand at a time: what is in hand can't be taken back any more (C54).
const TYPED: usize = 4 * 1024;
/// How often a terminal that nobody has open is tried again.
const PAUSE: Duration = Duration::from_millis(50);

/// Writes one input.
#[derive(Debug)]
pub struct Writer {
    /// Whose input it is.
    pub command: Arc<Command>,
    /// Told when there is more, or the end.
    pub changed: Arc<Notify>,
    /// A terminal: a plain write, and nobody who closes it.
    pub terminal: bool,
}

impl Writer {
    /// Writes until the end, or until the program takes no more.
    pub async fn run(self, target: OwnedFd) {
        if let Ok(target) = watch(target, Interest::READABLE | Interest::WRITABLE) {
            // Whether it took everything or closes its end: nothing more can be written.
            let _ = self.write(&target).await;
        }
        self.command.close_input();
    }

    async fn write(&self, target: &AsyncFd<Arc<OwnedFd>>) -> io::Result<()> {
        let mut bytes = Vec::new();
        let most = if self.terminal { TYPED } else { CHUNK };
        loop {
            bytes.clear();
            let left = self.command.take_input(most, &mut bytes);
            match (left, bytes.len()) {
                (Left::Nothing, 0) => {
                    // What a burst needed is not held while nothing comes.
                    bytes = Vec::new();
                    self.wait(target).await?;
                }
                (Left::End, 0) => return Ok(()),
                _ => self.write_all(target, &bytes).await?,
            }
        }
    }

    async fn write_all(&self, target: &AsyncFd<Arc<OwnedFd>>, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let mut ready = tokio::select! {
                ready = target.writable() => ready?,
                () = self.changed.notified() => {
                    // More to write comes later; nobody to write to ends this.
                    self.require_open()?;
                    continue;
                }
            };
            let closed = ready.ready().is_write_closed();
            match ready.try_io(|target| self.write_some(target.get_ref(), bytes)) {
                Ok(written) => bytes = &bytes[written?..],
                Err(_would_block) if closed => self.pause().await?,
                Err(_would_block) => {}
            }
        }
        Ok(())
    }

    /// Waits for a terminal that everybody has closed and that has no room either: it says that it is ready for ever, so nothing else
    /// would get a turn. Whoever is still in its session may open it again.
    async fn pause(&self) -> io::Result<()> {
        let _ = tokio::time::timeout(PAUSE, self.changed.notified()).await;
        self.require_open()
    }

    fn require_open(&self) -> io::Result<()> {
        if self.command.is_input_closed() { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(()) }
    }

    fn write_some(&self, target: &OwnedFd, bytes: &[u8]) -> io::Result<usize> {
        if self.terminal {
            return Ok(rustix::io::retry_on_intr(|| rustix::io::write(target, bytes))?);
        }
        // Not a plain write: that would raise SIGPIPE, which is the harness' own affair.
        process::stdio::send(target, bytes)
    }

    /// Waits for more to write; fails when the program closes its end meanwhile.
    async fn wait(&self, target: &AsyncFd<Arc<OwnedFd>>) -> io::Result<()> {
        loop {
            tokio::select! {
                () = self.changed.notified() => return Ok(()),
                ready = target.readable(), if !self.terminal => {
                    let mut ready = ready?;
                    if ready.ready().is_read_closed() {
                        return Err(io::ErrorKind::BrokenPipe.into());
                    }
                    // It writes to its own input: that is its affair.
                    ready.clear_ready();
                }
            }
        }
    }
}
