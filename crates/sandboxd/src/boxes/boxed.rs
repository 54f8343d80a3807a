//! A running box, seen from the service.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::process::Child;
use tokio::sync::{mpsc, oneshot, watch};

use super::{Error, Isolation, control};

/// The path of a box' socket. Through the descriptor, as addresses over 107 bytes fail and state directories may be deep.
pub(super) fn socket_path(dir: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}/envd.sock", dir.as_raw_fd()))
}

/// What the keeper of a box is told.
#[derive(Debug)]
enum Order {
    /// A word for the box and where to put its answer.
    Say(u8, oneshot::Sender<io::Result<()>>),
    /// End the box.
    End,
}

/// A handle of a running box. Dropping it ends the box in the background.
#[derive(Debug)]
pub struct Boxed {
    dir: OwnedFd,
    isolation: Isolation,
    orders: mpsc::Sender<Order>,
    ended: watch::Receiver<bool>,
}

impl Boxed {
    pub(super) fn new(path: PathBuf, dir: OwnedFd, isolation: Isolation, control: UnixStream, monitor: Child) -> Self {
        let (orders, inbox) = mpsc::channel(4);
        let (done, ended) = watch::channel(false);
        tokio::spawn(keep(path, control, monitor, inbox, done));
        Self { dir, isolation, orders, ended }
    }

    /// A new connection to the box' daemon.
    ///
    /// # Errors
    /// When the daemon is gone.
    pub async fn dial(&self) -> io::Result<UnixStream> {
        UnixStream::connect(socket_path(&self.dir)).await
    }

    /// Stops every process of the box.
    ///
    /// # Errors
    /// [`Error::NoPause`] without isolation, [`Error::Ended`] when the box is gone.
    pub async fn freeze(&self) -> Result<(), Error> {
        self.say(control::FREEZE).await
    }

    /// Lets the processes of a frozen box go on (also those that had been stopped from inside).
    ///
    /// # Errors
    /// As [`Boxed::freeze`].
    pub async fn thaw(&self) -> Result<(), Error> {
        self.say(control::THAW).await
    }

    async fn say(&self, word: u8) -> Result<(), Error> {
        if self.isolation == Isolation::Off {
            return Err(Error::NoPause);
        }
        let (answer, answered) = oneshot::channel();
        self.orders.send(Order::Say(word, answer)).await.map_err(|_| Error::Ended)?;
        answered.await.map_err(|_| Error::Ended)?.map_err(|_| Error::Ended)
    }

    /// Resolves when every process of the box is gone.
    pub fn ended(&self) -> impl Future<Output = ()> + use<> {
        let mut ended = self.ended.clone();
        async move {
            // An error means that the keeper is gone, and with it the control socket.
            let _ = ended.wait_for(|over| *over).await;
        }
    }

    /// Ends the box; resolves when every process of it is gone. Its files go in the background.
    pub async fn end(&self) {
        // A keeper that has left has ended the box.
        let _ = self.orders.send(Order::End).await;
        self.ended().await;
    }
}

/// Owns the control socket and the monitor: passes words on, notices the end, deletes the box' directory.
async fn keep(
    path: PathBuf,
    mut control: UnixStream,
    mut monitor: Child,
    mut inbox: mpsc::Receiver<Order>,
    done: watch::Sender<bool>,
) {
    loop {
        tokio::select! {
            order = inbox.recv() => match order {
                Some(Order::Say(word, answer)) => {
                    let result = exchange(&mut control, word).await;
                    let failed = result.is_err();
                    // Whoever asked may have left.
                    let _ = answer.send(result);
                    if failed { break }
                }
                Some(Order::End) | None => break,
            },
            _ = monitor.wait() => break,
        }
    }
    drop(control);
    if let Err(error) = monitor.wait().await {
        tracing::warn!(%error, "cannot wait for a sandbox' monitor");
    }
    done.send_replace(true);
    let removed = tokio::fs::remove_dir_all(&path).await;
    if let Err(error) = removed {
        tracing::warn!(%error, path = %path.display(), "cannot delete a sandbox' directory");
    }
}

/// Says a word and waits for its echo.
async fn exchange(control: &mut UnixStream, word: u8) -> io::Result<()> {
    control.write_all(&[word]).await?;
    let mut echo = [0_u8];
    control.read_exact(&mut echo).await?;
    if echo[0] == word { Ok(()) } else { Err(io::Error::other("unexpected answer of a sandbox")) }
}
