//! The streams of all commands, between their pipes and the link.

use protocol::control::{EndReason, FromSupervisor, OutputChannel, StreamEnd};
use protocol::{Channel, CommandId, Filled, Source, StreamId, Time};

use super::output::Context;
use super::spill::News;
use super::{Commands, channel_of};
use crate::disk::{Done, Key};
use crate::worker::Worker;

/// Larger pipes that were idle this long are made small again, in microseconds.
const IDLE: u64 = 2_000_000;

/// Where the link takes bytes from.
pub struct Outputs<'a> {
    /// All commands.
    pub commands: &'a mut Commands,
    /// What reading needs.
    pub context: Context<'a>,
}

impl Source for Outputs<'_> {
    fn read(&mut self, stream: StreamId, max: usize, out: &mut Vec<u8>) -> Filled {
        let command = self.commands.get_mut(&stream.command);
        match command.and_then(|command| command.output_mut(stream.channel)) {
            Some(output) => output.fill(max, out, &mut self.context),
            None => Filled::Drained,
        }
    }
}

fn named(index: usize) -> OutputChannel {
    if index == 0 { OutputChannel::Stdout } else { OutputChannel::Stderr }
}

fn told(index: usize, news: News) -> FromSupervisor {
    match news {
        News::Complete(offset) => FromSupervisor::Spilled { output: named(index), offset },
        News::Lost => FromSupervisor::SpillLost { output: named(index) },
    }
}

impl Worker {
    /// There is something in an output.
    pub fn on_output(&mut self, id: CommandId, channel: Channel) {
        self.link.ready(StreamId { command: id, channel });
        // One event for both directions of a terminal.
        if self.commands.get(&id).is_some_and(|command| command.terminal.is_some()) {
            self.flush_stdin(id);
        }
    }

    /// Writes a command's input as far as there is room.
    pub fn flush_stdin(&mut self, id: CommandId) {
        let Some(command) = self.commands.get_mut(&id) else { return };
        let stream = StreamId { command: id, channel: Channel::Stdin };
        let mut flushed = command.stdin.flush(&self.poller);
        if !flushed.broken && command.stdin.is_abandoned() {
            flushed.broken = true;
            command.stdin.close(&self.poller);
        }
        if flushed.taken > 0 {
            self.link.consume(stream, flushed.taken);
        }
        if flushed.broken {
            self.link.close_incoming(stream);
            self.link.send(id, &FromSupervisor::StdinClosed);
        }
    }

    /// The host takes no more of an output.
    pub fn close_output(&mut self, id: CommandId, output: OutputChannel) {
        let index = usize::from(output == OutputChannel::Stderr);
        self.end_output((id, index), EndReason::Closed);
    }

    fn end_output(&mut self, (id, index): Key, reason: EndReason) {
        let mut context =
            Context { disk: &mut self.disk, budget: &mut self.budget, poller: &self.poller, now: self.now };
        let Some(output) = self.commands.get_mut(&id).and_then(|command| command.outputs[index].as_mut()) else {
            return;
        };
        if output.file().is_none() {
            return;
        }
        if let Some(end) = output.finish(reason, &mut context) {
            self.say_end((id, index), end);
        }
    }

    fn say_end(&mut self, (id, index): Key, end: StreamEnd) {
        self.link.end_outgoing(StreamId { command: id, channel: channel_of(index) }, end);
    }

    /// The disk thread has done something.
    pub fn on_disk(&mut self) {
        for done in self.disk.take_done() {
            match done {
                Done::Resolved { command, answer } => {
                    self.link.send(command, &FromSupervisor::Resolved(answer));
                    self.finished.push(command);
                }
                Done::Wrote { key, bytes, complete } => self.on_wrote(key, bytes, complete),
                Done::Finished { key: (id, index), kept } => {
                    let output = self.commands.get_mut(&id).and_then(|command| command.outputs[index].as_mut());
                    if let Some(end) = output.and_then(|output| output.spill_finished(kept)) {
                        self.say_end((id, index), end);
                    }
                }
            }
        }
    }

    fn on_wrote(&mut self, (id, index): Key, bytes: usize, complete: Option<u64>) {
        let output = self.commands.get_mut(&id).and_then(|command| command.outputs[index].as_mut());
        let Some(spill) = output.and_then(|output| output.spill.as_mut()) else { return };
        if let Some(news) = spill.wrote(bytes, complete, self.now, &mut self.disk) {
            self.link.send(id, &told(index, news));
        }
        // It may have waited for the disk.
        self.link.ready(StreamId { command: id, channel: channel_of(index) });
    }

    /// Cuts outputs whose holders had their grace, tells of spill files, and shrinks idle pipes.
    pub fn tend_outputs(&mut self) {
        let now = self.now;
        let mut cut: Vec<Key> = Vec::new();
        let mut news: Vec<(Key, News)> = Vec::new();
        let stirred: Vec<CommandId> = self.commands.stirred().map(|(id, _)| id).collect();
        for id in stirred {
            let Some(command) = self.commands.get_mut(&id) else { continue };
            let exited = command.is_exited() || command.is_gone();
            let urgent = command.ladder.is_begun() || command.is_gone();
            let grace = command.grace;
            for (index, output) in (0..).zip(&mut command.outputs) {
                let Some(output) = output else { continue };
                let fresh = output.news.take();
                let fresh = fresh.or_else(|| output.spill.as_mut().and_then(|spill| spill.news(now)));
                news.extend(fresh.map(|fresh| ((id, index), fresh)));
                let terminal = command.terminal.is_some();
                if exited && (output.drained || urgent || terminal) {
                    let stream = StreamId { command: id, channel: channel_of(index) };
                    if output.is_overheld(now, self.link.is_waiting(stream), grace) {
                        cut.push((id, index));
                    }
                }
            }
        }
        for ((id, index), news) in news {
            self.link.send(id, &told(index, news));
        }
        for (id, index) in cut {
            // Read what is there; the end follows where it is cut.
            self.link.ready(StreamId { command: id, channel: channel_of(index) });
            self.again = true;
        }
        self.shrink_pipes();
    }

    fn shrink_pipes(&mut self) {
        if self.budget.spent() == 0 || self.now < self.shrink_at {
            return;
        }
        self.shrink_at = Time(self.now.0 + IDLE);
        let before = Time(self.now.0.saturating_sub(IDLE));
        for output in self.commands.values_mut().flat_map(|command| command.outputs.iter_mut().flatten()) {
            output.shrink_if_idle(before, &mut self.budget);
        }
    }
}
