//! What passes through a command's streams, on the driver's side.

use std::sync::Arc;

use protocol::control::{OutputChannel, StreamEnd};

use super::{Command, index, mask};
use crate::session::{
    input::{Input, Left, Shortcut},
    output::{Lent, Output},
    wake::changed,
};

impl Command {
    /// Bytes of an output came. Returns how many are consumed already, and whether its reader waits for [`Command::announce`].
    pub fn push(&self, channel: OutputChannel, bytes: &[u8]) -> (usize, bool) {
        let mut state = self.lock();
        let Some(output) = &mut state.outputs[index(channel)] else { return (bytes.len(), false) };
        output.push(bytes)
    }

    /// The same for bytes that need not be copied.
    pub fn push_whole(&self, channel: OutputChannel, bytes: Vec<u8>) -> (usize, bool) {
        let mut state = self.lock();
        let Some(output) = &mut state.outputs[index(channel)] else { return (bytes.len(), false) };
        output.push_whole(bytes)
    }

    /// Wakes the reader of an output.
    pub fn announce(&self, channel: OutputChannel) {
        self.wakes.mark(self.id, mask(channel));
    }

    /// Fewer taken bytes than this need not be told ([`Op::Consumed`]). Returns what was taken and not told so far, when it is as much.
    pub fn tell_from(&self, channel: OutputChannel, bytes: usize) -> Option<usize> {
        let mut state = self.lock();
        let output = state.outputs[index(channel)].as_mut()?;
        output.set_tell_from(bytes);
        output.taken()
    }

    /// Lends an output's pipe to its reader, or ends that.
    pub fn lend(&self, channel: OutputChannel, pipe: Option<Arc<dyn Lent>>) {
        if let Some(output) = &mut self.lock().outputs[index(channel)] {
            output.lend(pipe);
        }
    }

    /// How many bytes the reader of an output has taken, while others wait for it.
    pub fn left_at(&self, channel: OutputChannel) -> Option<u64> {
        self.lock().outputs[index(channel)].as_ref().and_then(Output::left_at)
    }

    /// Bytes that a collected output had so far.
    pub fn total(&self, channel: OutputChannel) -> u64 {
        self.lock().outputs[index(channel)].as_ref().map_or(0, Output::total)
    }

    /// Whether nobody reads an output any more.
    pub fn is_unwanted(&self, channel: OutputChannel) -> bool {
        self.lock().outputs[index(channel)].as_ref().is_some_and(Output::is_unwanted)
    }

    /// An output ended; with `None`, without the supervisor's word.
    pub fn finish(&self, channel: OutputChannel, end: Option<StreamEnd>) {
        let mut state = self.lock();
        let Some(output) = &mut state.outputs[index(channel)] else { return };
        match end {
            Some(end) => output.finish(end),
            None => output.abandon(),
        }
        self.wakes.mark(self.id, mask(channel));
        self.recount(&mut state);
    }

    /// Changes an output's spill file.
    pub fn spill(&self, channel: OutputChannel, change: impl FnOnce(&mut Output)) {
        if let Some(output) = &mut self.lock().outputs[index(channel)] {
            change(output);
        }
    }

    /// Whether the input has something to send.
    pub fn is_input_ready(&self) -> bool {
        self.lock().input.as_ref().is_some_and(Input::is_ready)
    }

    /// Takes up to `max` bytes of the input.
    pub fn take_input(&self, max: usize, out: &mut Vec<u8>) -> Left {
        let mut state = self.lock();
        let Some(input) = &mut state.input else { return Left::End };
        let (left, wake) = input.take(max, out);
        if wake {
            self.wakes.mark(self.id, changed::STDIN);
        }
        left
    }

    /// How many bytes are left of what was written at some moment ([`Input::written`]).
    pub fn input_due(&self, written: u64) -> usize {
        self.lock().input.as_ref().map_or(0, |input| input.due(written))
    }

    /// Lets input that waits for nothing, and sizes, go past the driver.
    pub fn set_shortcut(&self, shortcut: Arc<dyn Shortcut>) {
        if let Some(input) = &mut self.lock().input {
            input.set_shortcut(shortcut);
        }
    }

    /// The program takes no more input.
    pub fn close_input(&self) {
        let mut state = self.lock();
        if let Some(input) = &mut state.input {
            input.close();
            self.wakes.mark(self.id, changed::STDIN);
        }
    }
}
