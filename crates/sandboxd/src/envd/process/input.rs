//! The way into a process: its stdin pipe or its terminal.

use std::{io, sync::Arc};

use bytes::{Buf as _, Bytes};
use envd_api::process::{ProcessInput, process_input};
use tokio::{
    io::AsyncWriteExt as _,
    net::unix::pipe,
    sync::{Mutex, OwnedMutexGuard},
};

use super::terminal::Terminal;
use crate::envd::connect::{Code, Error};

type Pipe = Option<pipe::Sender>;

/// Where input goes. Writes are whole and one after the other: a process that doesn't read holds
/// the writer up, and everyone behind it.
#[derive(Debug)]
pub enum Input {
    /// The write end of stdin; `None` when it is closed or was never open.
    Pipe(Arc<Mutex<Pipe>>),
    /// The terminal, with a turn for each writer.
    Terminal(Arc<Terminal>, Arc<Mutex<()>>),
}

impl Input {
    /// Writes one piece of input. Once begun it is finished, even if the caller goes away.
    ///
    /// # Errors
    /// `internal` when the process can't take input of this kind or has closed its end,
    /// `unimplemented` for no input at all.
    pub async fn write(&self, input: Option<ProcessInput>) -> Result<(), Error> {
        match (input.and_then(|input| input.input), self) {
            (Some(process_input::Input::Stdin(bytes)), Self::Pipe(pipe)) => {
                write_pipe(pipe.clone().lock_owned().await, bytes).await.map_err(|error| stdin_error(&error))
            }
            (Some(process_input::Input::Pty(bytes)), Self::Terminal(terminal, turn)) => {
                write_terminal(terminal.clone(), turn.clone().lock_owned().await, bytes)
                    .await
                    .map_err(|error| Error::internal(format!("error writing to tty: {error}")))
            }
            (Some(process_input::Input::Stdin(_)), Self::Terminal(..)) => Err(Error::internal(
                "error writing to stdin: tty assigned to process — input should be written to the pty, not the stdin",
            )),
            (Some(process_input::Input::Pty(_)), Self::Pipe(_)) => Err(Error::internal(
                "error writing to tty: tty not assigned to process — input should be written to the stdin, not the tty",
            )),
            (None, _) => Err(Error::unimplemented("invalid input type <nil>")),
        }
    }

    /// Closes stdin, after what is being written. Once is enough, more does no harm; a process that
    /// never had a stdin pipe counts as closed.
    ///
    /// # Errors
    /// `unknown` for a terminal, which has no end of input to close.
    pub async fn close(&self) -> Result<(), Error> {
        match self {
            Self::Pipe(pipe) => {
                pipe.lock().await.take();
                Ok(())
            }
            Self::Terminal(..) => Err(Error::new(
                Code::Unknown,
                "error closing stdin: cannot close stdin for PTY process — send Ctrl+D (0x04) instead",
            )),
        }
    }
}

async fn write_pipe(mut guard: OwnedMutexGuard<Pipe>, mut bytes: Bytes) -> io::Result<()> {
    let Some(pipe) = guard.as_mut() else { return Err(io::ErrorKind::NotConnected.into()) };
    while !bytes.is_empty() {
        match pipe.try_write(&bytes) {
            Ok(written) => bytes.advance(written),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) => return Err(error),
        }
    }
    if bytes.is_empty() {
        return Ok(());
    }
    // Beyond what fits, the writing must not depend on the caller, whose future may be dropped.
    let writing = tokio::spawn(async move {
        match guard.as_mut() {
            Some(pipe) => pipe.write_all(&bytes).await,
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    });
    writing.await.unwrap_or_else(|error| Err(io::Error::other(error)))
}

async fn write_terminal(terminal: Arc<Terminal>, turn: OwnedMutexGuard<()>, bytes: Bytes) -> io::Result<()> {
    let writing = tokio::spawn(async move {
        let result = terminal.write_all(&bytes).await;
        drop(turn);
        result
    });
    writing.await.unwrap_or_else(|error| Err(io::Error::other(error)))
}

fn stdin_error(error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::NotConnected => Error::internal("error writing to stdin: stdin not enabled or closed"),
        _ => Error::internal(format!("error writing to stdin: {error}")),
    }
}
