//! What can be asked of a command's terminal (C52, C53, C57).

use process::pty::{ForegroundError, Signalled};
use process::waiting::input_waiting;
use protocol::control::{FromSupervisor, SignalFailure};
use protocol::{Channel, CommandId, StreamId};

use crate::command::output::Context;
use crate::command::streams::Outputs;
use crate::worker::Worker;

/// More than the kernel holds of a terminal's output, in bytes: what a program says after the look need not come first.
const HELD: usize = 128 * 1024;

/// Members of other users that are named for one signal.
const MOST_DENIED: usize = 128;

impl Worker {
    /// Changes the size. A command without a terminal has none to change.
    pub fn resize(&mut self, id: CommandId, rows: u16, cols: u16) {
        if let Some(terminal) = self.commands.get(&id).and_then(|command| command.terminal.as_ref()) {
            let _ = terminal.resize(rows, cols);
        }
    }

    /// Says which group is in front, and whether it waits for input; before that, what was shown until then.
    pub fn inspect_foreground(&mut self, id: CommandId, request: u32) {
        let group = self.commands.get(&id).and_then(|command| {
            let (leader, terminal) = (command.pid()?, command.terminal.as_ref()?);
            let group = terminal.foreground()?;
            let waits = input_waiting(leader, group, terminal.device());
            Some((group.as_raw_pid().cast_unsigned(), waits))
        });
        // Looked at first, read then: what a program said before it waited is not behind the news that it waits.
        self.send_output_ahead(id);
        self.link.send(id, &FromSupervisor::Foreground { request, group });
    }

    fn send_output_ahead(&mut self, id: CommandId) {
        let context = Context { disk: &mut self.disk, budget: &mut self.budget, poller: &self.poller, now: self.now };
        let mut outputs = Outputs { commands: &mut self.commands, context };
        self.link.send_ahead(StreamId { command: id, channel: Channel::Stdout }, HELD, &mut outputs);
    }

    /// Signals the group in front.
    pub fn signal_foreground(&mut self, id: CommandId, request: u32, signal: u8) {
        let target = self.commands.get(&id).and_then(|command| Some((command.pid()?, command.terminal.as_ref()?)));
        let result = match target {
            None => Err(SignalFailure::NoGroup),
            Some((leader, terminal)) => match terminal.signal_foreground(leader, signal.into()) {
                Ok(signalled) => told(signalled, signal),
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

/// The group, or who of it was not reached.
fn told(Signalled { group, reached, denied }: Signalled, signal: u8) -> Result<u32, SignalFailure> {
    let group = group.as_raw_pid().cast_unsigned();
    if denied.is_empty() {
        return Ok(group);
    }
    let members = denied.iter().take(MOST_DENIED).map(|one| (one.pid.cast_unsigned(), one.start_time)).collect();
    Err(SignalFailure::Denied { group, reached, signal, members })
}
