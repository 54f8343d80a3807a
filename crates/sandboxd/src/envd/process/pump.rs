//! From a process's pipes or terminal to its listeners.

use std::{io, sync::Arc};

use bytes::{BufMut as _, Bytes, BytesMut};
use tokio::{io::AsyncReadExt as _, net::unix::pipe, sync::mpsc};

use super::{
    fanout::{Channel, Chunk, Fanout},
    terminal::Terminal,
};

/// The most that one read of a pipe takes; the size of the daemon's messages.
const PIPE_CHUNK: usize = 32 << 10;
/// The most that one read of a terminal takes.
const TERMINAL_CHUNK: usize = 16 << 10;
/// Memory is taken in blocks of this size, which several small chunks share.
const BLOCK: usize = 128 << 10;

/// Where output comes from.
pub enum Source {
    /// File descriptor 1.
    Stdout(pipe::Receiver),
    /// File descriptor 2.
    Stderr(pipe::Receiver),
    /// The terminal.
    Terminal(Arc<Terminal>),
}

impl Source {
    fn channel(&self) -> Channel {
        match self {
            Self::Stdout(_) => Channel::Stdout,
            Self::Stderr(_) => Channel::Stderr,
            Self::Terminal(_) => Channel::Terminal,
        }
    }

    /// What there is to read, or nothing at the end.
    async fn read(&mut self, block: &mut BytesMut) -> io::Result<Bytes> {
        match self {
            Self::Stdout(pipe) | Self::Stderr(pipe) => {
                if block.capacity() < PIPE_CHUNK {
                    *block = BytesMut::with_capacity(BLOCK);
                }
                pipe.read_buf(&mut (&mut *block).limit(PIPE_CHUNK)).await?;
            }
            Self::Terminal(terminal) => {
                block.resize(TERMINAL_CHUNK, 0);
                let length = terminal.read(block).await?;
                block.truncate(length);
            }
        }
        Ok(block.split().freeze())
    }
}

/// Reads until the end. Chunks that nobody listens for are dropped; else a full queue makes the
/// process wait.
pub async fn pump(mut source: Source, fanout: Arc<Fanout>, queue: mpsc::Sender<Chunk>) {
    let channel = source.channel();
    let mut block = BytesMut::new();
    loop {
        match source.read(&mut block).await {
            Ok(bytes) if bytes.is_empty() => return,
            Ok(bytes) if fanout.has_listeners() => {
                if queue.send(Chunk { channel, bytes }).await.is_err() {
                    return;
                }
            }
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(?channel, %error, "reading output failed");
                return;
            }
        }
    }
}
