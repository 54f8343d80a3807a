//! What the host asks for.

use bytes::Bytes;
use protocol::control::{FromSupervisor, Resolve, Running, ToSupervisor, decode};
use protocol::wire::{Kind, MAX_CONTROL};
use protocol::{Channel, CommandId, StreamId};
use serde_bytes::ByteBuf;

use crate::disk::Job;
use crate::terminate::Ladder;
use crate::worker::Worker;

/// Bytes of words in a list of running commands.
const LISTED: usize = MAX_CONTROL / 2;
/// What a word takes besides its bytes, at most.
const WORD: usize = 5;

impl Worker {
    /// A control message from the host. One that cannot be read is dropped: the version was checked, so it is a bug there.
    pub fn on_control(&mut self, id: CommandId, message: &Bytes) {
        let Ok(message) = decode::<ToSupervisor>(Kind::Control, message) else { return };
        match message {
            ToSupervisor::Start(start) => self.start(id, *start),
            ToSupervisor::Terminate => self.terminate(id),
            ToSupervisor::CloseOutput(output) => self.close_output(id, output),
            ToSupervisor::Resolve(question) => self.resolve(id, question),
            ToSupervisor::Resize { rows, cols } => self.resize(id, rows, cols),
            ToSupervisor::InspectForeground { request } => self.inspect_foreground(id, request),
            ToSupervisor::SignalForeground { request, signal } => self.signal_foreground(id, request, signal),
            ToSupervisor::ListRunning => self.list_running(),
            ToSupervisor::Shutdown => self.shut_down(),
            ToSupervisor::EndLost { epochs, sessions } => self.end_lost(&epochs, &sessions),
        }
    }

    /// Bytes for a command.
    pub fn on_data(&mut self, stream: StreamId, bytes: Bytes) {
        let length = bytes.len() as u64;
        self.ask_first(stream.command);
        let Some(command) = self.commands.get_mut(&stream.command) else { return };
        if command.stdin.push(bytes) {
            self.flush_stdin(stream.command);
        } else {
            // Nobody wants them; their credit is given back all the same.
            self.link.consume(stream, length);
        }
    }

    /// The end of what goes to a command.
    pub fn on_end(&mut self, stream: StreamId) {
        self.ask_first(stream.command);
        if let Some(command) = self.commands.get_mut(&stream.command) {
            command.stdin.end();
            self.flush_stdin(stream.command);
        }
    }

    /// A program that shall end hears of that before its input goes on: else it could end by its input first.
    fn ask_first(&mut self, id: CommandId) {
        if self.commands.get(&id).is_some_and(|command| command.ladder == Ladder::Due) {
            self.climb_ladders();
        }
    }

    fn resolve(&mut self, id: CommandId, mut question: Resolve) {
        let ambient = || self.ambient.environment().get(b"PATH").unwrap_or_default().to_vec();
        question.path = Some(question.path.unwrap_or_else(|| ByteBuf::from(ambient())));
        question.cwd = ByteBuf::from(self.ambient.directory(&question.cwd));
        if !self.disk.submit(Job::Resolve { command: id, question: question.clone() }) {
            let answer = crate::resolve::find(&question);
            self.link.send(id, &FromSupervisor::Resolved(answer));
            self.finished.push(id);
        }
    }

    fn list_running(&mut self) {
        // A list that is too long to be sent would cost the connection: later words are left out then.
        let mut room = LISTED;
        let running = self.commands.iter().filter(|(_, command)| !command.is_gone()).filter_map(|(id, command)| {
            let pid = command.pid()?.as_raw_pid().cast_unsigned();
            let sent = |channel| self.link.sent(StreamId { command: id, channel }).unwrap_or_default();
            let offsets = [sent(Channel::Stdout), sent(Channel::Stderr)];
            let fits = |word: &&ByteBuf| {
                let left = room.checked_sub(word.len() + WORD);
                room = left.unwrap_or(room);
                left.is_some()
            };
            let argv = command.argv.iter().take_while(fits).cloned().collect();
            Some(Running {
                command: id,
                pid,
                start_time: command.start_time,
                argv,
                stdio: command.stdio.clone(),
                offsets,
            })
        });
        let running = running.collect();
        self.link.send(0, &FromSupervisor::Running(running));
    }
}
