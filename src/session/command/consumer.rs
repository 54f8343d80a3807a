//! What JavaScript asks of a command.

use std::time::Duration;

use protocol::{CommandId, control::OutputChannel};

use super::{Command, Outcome, State, Tree, index};
use crate::session::{
    failure::Failure,
    input::Input,
    op::Op,
    output::{Collected, Output},
};

impl Command {
    /// The id under which changes are announced.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// `argv[0]`.
    pub fn program(&self) -> &str {
        &self.program
    }

    /// The process id, if it is known.
    pub fn pid(&self) -> Option<u32> {
        let mut state = self.lock();
        state.pid_seen |= state.pid.is_some();
        state.pid
    }

    /// Whether it is known to run, or to have run.
    pub fn is_started(&self) -> bool {
        self.lock().started
    }

    /// Waits until it is known to run, or not to, at most so long. Blocks the thread.
    pub fn wait_for_start(&self, patience: Duration) {
        let unknown = |state: &mut State| !state.started && state.outcome.is_none();
        drop(self.start_known.wait_timeout_while(self.lock(), patience, unknown));
    }

    /// Takes up to `max` bytes of an output that waits for its reader.
    pub fn take(&self, channel: OutputChannel, max: usize) -> Option<Vec<u8>> {
        let mut state = self.lock();
        let output = state.outputs[index(channel)].as_mut()?;
        let bytes = output.take(max);
        let taken = output.taken();
        self.recount(&mut state);
        if let Some(taken) = taken {
            state.tell(|id| Op::Consumed(id, channel, taken));
        }
        bytes
    }

    /// Whether an output's pipe is lent to its reader.
    pub fn is_lent(&self, channel: OutputChannel) -> bool {
        self.lock().outputs[index(channel)].as_ref().is_some_and(Output::is_lent)
    }

    /// Fills `room` from an output's pipe that is lent; gives how many bytes that were.
    pub fn read_lent(&self, channel: OutputChannel, room: &mut [u8]) -> usize {
        let mut state = self.lock();
        let Some(output) = &mut state.outputs[index(channel)] else { return 0 };
        let count = output.read_lent(room);
        self.recount(&mut state);
        count
    }

    /// Whether an output has ended.
    pub fn has_ended(&self, channel: OutputChannel) -> bool {
        self.lock().outputs[index(channel)].as_ref().is_none_or(Output::is_finished)
    }

    /// Whether an output has ended and all its bytes were taken.
    pub fn is_over(&self, channel: OutputChannel) -> bool {
        self.lock().outputs[index(channel)].as_ref().is_none_or(Output::is_over)
    }

    /// Whether bytes may be missing at an output's end, since what was to bring them was lost.
    pub fn is_cut_off(&self, channel: OutputChannel) -> bool {
        self.lock().outputs[index(channel)].as_ref().is_some_and(Output::is_cut_off)
    }

    /// Nobody reads an output any more. Before the start nobody has to be told: whoever starts it looks.
    pub fn close_output(&self, channel: OutputChannel) {
        let mut state = self.lock();
        let Some(output) = &mut state.outputs[index(channel)] else { return };
        output.discard();
        if !output.is_finished() {
            state.tell(|id| Op::CloseOutput(id, channel));
        }
        self.recount(&mut state);
    }

    /// Takes as many of the bytes as there is room for; 0 means: wait for a change of the input.
    pub fn write(&self, bytes: &[u8]) -> usize {
        let mut state = self.lock();
        let Some(input) = &mut state.input else { return 0 };
        let accepted = input.write(bytes);
        if accepted > 0 && input.is_ready() {
            state.tell(Op::Input);
        }
        accepted
    }

    /// The last `count` bytes that were taken for the input are not wanted any more, as far as they have not gone.
    pub fn take_back(&self, count: usize) {
        if let Some(input) = &mut self.lock().input {
            input.take_back(count);
        }
    }

    /// No more input comes.
    pub fn end_input(&self) {
        let mut state = self.lock();
        if let Some(input) = &mut state.input {
            input.end();
            state.tell(Op::Input);
        }
    }

    /// Whether the program takes no more input.
    pub fn is_input_closed(&self) -> bool {
        self.lock().input.as_ref().is_none_or(Input::is_closed)
    }

    /// How it ended, once that is known.
    pub fn outcome(&self) -> Option<Result<Outcome, Failure>> {
        self.lock().outcome.clone()
    }

    /// Why no more is known of it than its outcome, if its session or its supervisor was lost.
    pub fn lost(&self) -> Option<Failure> {
        self.lock().lost.clone()
    }

    /// What is known of the tree.
    pub fn tree(&self) -> Tree {
        self.lock().tree.clone()
    }

    /// Reads a collected output from a whole-stream offset; `None` when it is not collected.
    pub fn read_from(&self, channel: OutputChannel, offset: u64) -> Option<Collected> {
        self.lock().outputs[index(channel)].as_ref()?.read_from(offset)
    }

    /// Bytes of host memory in collected outputs.
    pub fn memory(&self) -> usize {
        self.lock().outputs.iter().flatten().map(Output::memory).sum()
    }

    /// Gives its terminal another size, before what is typed after it.
    pub fn resize(&self, rows: u16, columns: u16) {
        let state = self.lock();
        match state.input.as_ref().and_then(Input::shortcut) {
            Some(shortcut) => {
                drop(state);
                shortcut.resize(rows, columns);
            }
            None => {
                state.tell_after_input(|id| Op::Resize(id, rows, columns));
            }
        }
    }

    /// Ends the tree; before the start this calls it off.
    pub fn terminate(&self) {
        let mut state = self.lock();
        if state.tree == Tree::Gone {
            return;
        }
        if state.bound.is_none() {
            return self.end(state, Some(Ok(Outcome::signalled("SIGTERM"))), true);
        }
        // After a failure this tries again, unless there is nobody left to ask.
        if state.tell(Op::Terminate) {
            state.tree = Tree::Alive;
            self.recount(&mut state);
        }
    }

    /// Calls a start off that JavaScript itself could not make; nothing of it reached the sandbox.
    pub fn abandon(&self) {
        let state = self.lock();
        if state.bound.is_none() {
            self.end(state, Some(Err(Failure::Closed)), true);
        }
    }

    /// Sends a wish about its terminal to its driver, if it was started: after what was typed until now.
    pub fn ask(&self, op: impl FnOnce(CommandId) -> Op) -> bool {
        self.lock().tell_after_input(op)
    }
}
