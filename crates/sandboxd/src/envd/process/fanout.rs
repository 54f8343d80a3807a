//! One process's output to any number of listeners.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::mpsc;

/// How many chunks may wait before a listener's slowness reaches the process.
pub const QUEUE: usize = 64;

/// How many chunks may wait for one listener. More would only hide from others that it is slow.
const LISTENER_QUEUE: usize = 2;

/// Which stream a chunk is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// File descriptor 1.
    Stdout,
    /// File descriptor 2.
    Stderr,
    /// Both, through a terminal.
    Terminal,
}

/// A piece of output.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// Which stream it is of.
    pub channel: Channel,
    /// Never empty.
    pub bytes: Bytes,
}

/// The listeners of one process. Each gets every chunk from the moment that it listens; a slow one
/// holds up the others and the process.
#[derive(Debug, Default)]
pub struct Fanout {
    /// `None` once there will be no more output.
    listeners: Mutex<Option<Vec<mpsc::Sender<Chunk>>>>,
}

impl Fanout {
    /// No listeners yet.
    pub fn new() -> Self {
        Self { listeners: Mutex::new(Some(Vec::new())) }
    }

    /// Listens from now on, until the receiver is dropped or there is no more output.
    pub fn listen(&self) -> mpsc::Receiver<Chunk> {
        let (sender, receiver) = mpsc::channel(LISTENER_QUEUE);
        if let Some(listeners) = self.lock().as_mut() {
            listeners.push(sender);
        }
        receiver
    }

    /// Whether anyone listens. Output that nobody hears is discarded at its source, at full speed.
    pub fn has_listeners(&self) -> bool {
        self.lock().as_ref().is_some_and(|listeners| listeners.iter().any(|listener| !listener.is_closed()))
    }

    /// Hands chunks on until the source ends; then the listeners' ends follow.
    pub async fn run(&self, mut source: mpsc::Receiver<Chunk>) {
        while let Some(chunk) = source.recv().await {
            for listener in self.present() {
                // An error is a listener that has just left.
                let _ = listener.send(chunk.clone()).await;
            }
        }
        self.lock().take();
    }

    fn present(&self) -> Vec<mpsc::Sender<Chunk>> {
        let mut listeners = self.lock();
        let Some(listeners) = listeners.as_mut() else { return Vec::new() };
        listeners.retain(|listener| !listener.is_closed());
        listeners.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Vec<mpsc::Sender<Chunk>>>> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use tokio::time::timeout;

    use super::*;

    const SOON: Duration = Duration::from_secs(5);

    fn chunk(text: &'static str) -> Chunk {
        Chunk { channel: Channel::Stdout, bytes: Bytes::from_static(text.as_bytes()) }
    }

    fn running() -> (Arc<Fanout>, mpsc::Sender<Chunk>) {
        let fanout = Arc::new(Fanout::new());
        let (sender, source) = mpsc::channel(QUEUE);
        let runner = fanout.clone();
        tokio::spawn(async move { runner.run(source).await });
        (fanout, sender)
    }

    #[tokio::test]
    async fn every_listener_gets_every_chunk_and_then_the_end() {
        let (fanout, source) = running();
        let mut listeners = [fanout.listen(), fanout.listen()];
        source.send(chunk("a")).await.expect("running");
        drop(source);
        for listener in &mut listeners {
            let first = timeout(SOON, listener.recv()).await.expect("in time").expect("a chunk");
            assert_eq!(first.bytes, "a");
            assert!(timeout(SOON, listener.recv()).await.expect("in time").is_none());
        }
    }

    #[tokio::test]
    async fn a_listener_that_does_not_read_holds_the_source_up_until_it_leaves() {
        let (fanout, source) = running();
        let stalled = fanout.listen();
        let mut sent = 0;
        while timeout(Duration::from_millis(200), source.send(chunk("x"))).await.is_ok() {
            sent += 1;
            assert!(sent < 2 * QUEUE, "never held up");
        }
        assert!(sent >= QUEUE, "held up after {sent}");
        drop(stalled);
        timeout(SOON, source.send(chunk("y"))).await.expect("free again").expect("running");
        assert!(!fanout.has_listeners());
    }

    #[tokio::test]
    async fn listening_after_the_end_is_an_end() {
        let (fanout, source) = running();
        let mut before = fanout.listen();
        drop(source);
        assert!(timeout(SOON, before.recv()).await.expect("in time").is_none());
        assert!(timeout(SOON, fanout.listen().recv()).await.expect("in time").is_none());
    }
}
