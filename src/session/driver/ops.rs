//! What JavaScript asks.

use std::sync::Arc;

use protocol::{
    CommandId, Filled, Source, StreamId,
    control::{self, EndReason, OutputChannel, Resolve, Start, StartFailure, StartStage, StreamEnd, ToSupervisor},
};

use super::{
    Driver, Over,
    active::{Active, Stream, input_stream, output_stream},
};
use crate::session::{
    command::{Command, Outcome},
    errno,
    failure::Failure,
    input::Left,
    op::Op,
    request::Request,
};

/// Linux' longest path, with its NUL.
const PATH_MAX: usize = 4096;

impl Driver {
    pub(super) fn on_op(&mut self, op: Op) {
        self.wake_for(&op);
        match op {
            Op::Start(id, command, start) => self.start(id, command, start),
            Op::Input(id) => {
                if self.commands.contains_key(&id) {
                    self.link.ready(input_stream(id));
                }
            }
            Op::InputFirst(id, written) => self.input_first(id, written),
            Op::Consumed(id, channel, bytes) => self.consumed(id, channel, bytes),
            Op::CloseOutput(id, channel) => self.close_output(id, channel),
            Op::Terminate(id) => self.terminate(id),
            Op::ListRunning(request) => self.list_running(request),
            Op::Adopt(id, command, grace_ms) => self.adopt(id, &command, grace_ms),
            Op::Resolve(id, request, resolve) => self.resolve(id, request, resolve),
            Op::Resize(id, rows, cols) => self.tell(id, &ToSupervisor::Resize { rows, cols }),
            Op::Inspect(id, request) => {
                let number = self.question(id, request);
                self.tell(id, &ToSupervisor::InspectForeground { request: number });
            }
            Op::Signal(id, request, signal) => {
                let number = self.question(id, request);
                self.tell(id, &ToSupervisor::SignalForeground { request: number, signal });
            }
            Op::Shutdown(request) => self.shut_down(request),
            Op::Gone => self.finish(Over::Gone),
            Op::Close => self.finish(Over::Failed(Failure::Closed)),
        }
    }

    fn start(&mut self, id: CommandId, command: Arc<Command>, start: Box<Start>) {
        self.found.note_own(id);
        if !control::fits(&*start) {
            let failure = Failure::Start { program: command.program().to_owned(), failure: too_long(&start) };
            return command.start_failed(Err(failure), true);
        }
        let mut active = Active::new(command, start);
        active.end_unwanted();
        self.commands.insert(id, active);
        self.open(id);
    }

    /// Opens a command's streams and says what to start. An output whose reader has gone already is closed in the sandbox all the same:
    /// its program is to feel it (C14), and this supervisor has not heard of it.
    pub(super) fn open(&mut self, id: CommandId) {
        let Some(active) = self.commands.get(&id) else { return };
        let Some(start) = &active.start else { return };
        self.link.send(id, &ToSupervisor::Start(start.clone()));
        for Stream { channel, ended, .. } in &active.outputs {
            if *ended {
                self.link.send(id, &ToSupervisor::CloseOutput(*channel));
            } else {
                self.link.open_incoming(output_stream(id, *channel), 0);
            }
        }
        if active.input {
            self.link.open_outgoing(input_stream(id), 0);
            if active.command.is_input_ready() {
                self.link.ready(input_stream(id));
            }
        }
    }

    /// What was typed goes before what is said next, as far as the terminal has room: a key pressed before a signal is read before it (C53).
    fn input_first(&mut self, id: CommandId, written: u64) {
        let Some(active) = self.commands.get(&id) else { return };
        // Before its start has gone there is no terminal to ask, and what was taken would be lost with a supervisor that never heard of it.
        if self.link.was_sent(id) {
            let due = active.command.input_due(written);
            self.link.send_ahead(input_stream(id), due, &mut Inputs(&self.commands));
        }
    }

    /// A reader took bytes, and is told how many more are worth telling: each word wakes this task.
    pub(super) fn consumed(&mut self, id: CommandId, channel: OutputChannel, bytes: usize) {
        let stream = output_stream(id, channel);
        let mut taken = Some(bytes);
        while let Some(bytes) = taken {
            self.link.consume(stream, bytes as u64);
            taken = match (self.commands.get(&id), self.link.consumption_due(stream)) {
                (Some(active), Some(due)) => {
                    active.command.tell_from(channel, usize::try_from(due).unwrap_or(usize::MAX))
                }
                _ => None,
            };
        }
    }

    fn tell(&mut self, id: CommandId, message: &ToSupervisor) {
        if self.commands.contains_key(&id) {
            self.link.send(id, message);
        }
    }

    fn close_output(&mut self, id: CommandId, channel: OutputChannel) {
        let Some(active) = self.commands.get_mut(&id) else { return };
        // It went before its start was looked at, or the stream's own end was quicker: the supervisor knows.
        if active.outputs.iter().any(|stream| stream.channel == channel && stream.ended) {
            return;
        }
        active.end_output(channel);
        active.command.finish(channel, None);
        self.link.close_incoming(output_stream(id, channel));
        self.link.send(id, &ToSupervisor::CloseOutput(channel));
        self.settle_if_over(id);
    }

    fn terminate(&mut self, id: CommandId) {
        if self.lost.has(id) {
            return self.end_lost();
        }
        let now = self.clock.now();
        let Some(active) = self.commands.get_mut(&id) else { return };
        active.hurried.get_or_insert(now);
        if self.link.take_back(id) {
            let command = Arc::clone(&active.command);
            self.forget(id);
            return command.start_failed(Ok(Outcome::signalled("SIGTERM")), true);
        }
        self.link.send(id, &ToSupervisor::Terminate);
        self.note_deadline(id);
    }

    pub(super) fn resolve(&mut self, id: CommandId, request: Arc<Request>, resolve: Resolve) {
        self.found.note_own(id);
        if !control::fits(&resolve) {
            return request.answer(Err(Failure::TooLong));
        }
        self.link.send(id, &ToSupervisor::Resolve(resolve.clone()));
        self.lookups.insert(id, (request, resolve));
    }

    fn question(&mut self, id: CommandId, request: Arc<Request>) -> u32 {
        self.last_question = self.last_question.wrapping_add(1);
        if self.commands.get(&id).is_none_or(|active| active.exit.is_some()) {
            request.answer(Err(Failure::NoForeground));
        } else {
            self.questions.insert((id, self.last_question), request);
        }
        self.last_question
    }

    /// Whoever is still under way is ended by the supervisor itself.
    fn shut_down(&mut self, request: Arc<Request>) {
        self.shutdown.push(request);
        if self.shutdown.len() > 1 {
            return;
        }
        // Nothing of what never reached it has to.
        let unsent: Vec<CommandId> = self.commands.keys().copied().filter(|id| !self.link.was_sent(*id)).collect();
        for id in unsent {
            self.terminate(id);
        }
        // What a killed supervisor left goes as well, and first, so that it is answered first.
        self.end_lost();
        self.link.send(0, &ToSupervisor::Shutdown);
    }

    /// Takes a command out of everything.
    pub(super) fn forget(&mut self, id: CommandId) {
        let Some(active) = self.commands.remove(&id) else { return };
        if let Some(deadline) = active.raw_deadline() {
            self.deadlines.remove(&(deadline, id));
        }
        for stream in &active.outputs {
            self.link.close_incoming(output_stream(id, stream.channel));
        }
        self.link.close_outgoing(input_stream(id));
        self.link.forget(id);
        let asked: Vec<(CommandId, u32)> =
            self.questions.keys().copied().filter(|(command, _)| *command == id).collect();
        for request in asked.iter().filter_map(|key| self.questions.remove(key)) {
            request.answer(Err(Failure::NoForeground));
        }
    }
}

/// What the kernel says of words that are too many even to be sent there.
fn too_long(start: &Start) -> StartFailure {
    if start.cwd.len() >= PATH_MAX {
        StartFailure { errno: errno::ENAMETOOLONG, stage: StartStage::Cwd }
    } else {
        StartFailure { errno: errno::E2BIG, stage: StartStage::Exec }
    }
}

/// The inputs of all commands, as the link wants them.
pub(super) struct Inputs<'a>(pub(super) &'a std::collections::HashMap<CommandId, Active>);

impl Source for Inputs<'_> {
    fn read(&mut self, stream: StreamId, max: usize, out: &mut Vec<u8>) -> Filled {
        let end = |reason| Filled::End(StreamEnd { offset: 0, reason, spilled: false });
        let Some(active) = self.0.get(&stream.command) else { return end(EndReason::Closed) };
        match active.command.take_input(max, out) {
            Left::More => Filled::More,
            Left::Nothing => Filled::Drained,
            Left::End => end(EndReason::Eof),
        }
    }
}
