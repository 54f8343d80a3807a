//! What can be asked of a command's terminal (C52, C53, C57).

use process::pty::ForegroundError;
use process::waiting::input_waiting;
use protocol::CommandId;
use protocol::control::{FromSupervisor, SignalFailure};

use crate::worker::Worker;

impl Worker {
    /// Changes the size. A command without a terminal has none to change.
    pub fn resize(&mut self, id: CommandId, rows: u16, cols: u16) {
        if let Some(terminal) = self.commands.get(&id).and_then(|command| command.terminal.as_ref()) {
            let _ = terminal.resize(rows, cols);
        }
    }

    /// Says which group is in front, and whether it waits for input.
    pub fn inspect_foreground(&mut self, id: CommandId, request: u32) {
        let group = self.commands.get(&id).and_then(|command| {
            let (leader, terminal) = (command.pid()?, command.terminal.as_ref()?);
            let group = terminal.foreground()?;
            let waits = input_waiting(leader, group, terminal.device());
            Some((group.as_raw_pid().cast_unsigned(), waits))
        });
        self.link.send(id, &FromSupervisor::Foreground { request, group });
    }

    /// Signals the group in front.
    pub fn signal_foreground(&mut self, id: CommandId, request: u32, signal: u8) {
        let target = self.commands.get(&id).and_then(|command| Some((command.pid()?, command.terminal.as_ref()?)));
        let result = match target {
            None => Err(SignalFailure::NoGroup),
            Some((leader, terminal)) => match terminal.signal_foreground(leader, signal.into()) {
                Ok(group) => Ok(group.as_raw_pid().cast_unsigned()),
                Err(ForegroundError::Unresolved) => Err(SignalFailure::NoGroup),
                Err(ForegroundError::OwnShell) => Err(SignalFailure::OwnShell),
                Err(ForegroundError::Refused(error)) => {
                    Err(SignalFailure::Errno(error.raw_os_error().unwrap_or(libc::EIO)))
                }
            },
        };
        self.link.send(id, &FromSupervisor::ForegroundSignalled { request, result });
    }
}
