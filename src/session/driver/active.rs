//! What the driver itself knows of a command that is under way.

use std::{sync::Arc, time::Duration};

use protocol::{
    Channel, CommandId, StreamId, Time,
    control::{Exit, Output, OutputChannel, Start, Stdio},
};

use crate::session::command::Command;

/// How long a terminal's reader may leave what waits for it before the outcome is told all the same, as on this very machine (C51).
const STALLED: Duration = Duration::from_millis(100);

/// More than a window and a pipe hold. What still arrives beyond that after a hurried end is a holder's.
const ON_ITS_WAY: u64 = 8 * 1024 * 1024;

/// A command that was given to the link.
#[derive(Debug)]
pub struct Active {
    /// What JavaScript sees.
    pub command: Arc<Command>,
    /// What to start, until it is known to run: another supervisor may have to be told.
    pub start: Option<Box<Start>>,
    /// Its process id and that one's start, once it is known to run.
    pub identity: Option<(u32, u64)>,
    /// Its grace.
    pub grace: Duration,
    /// Whether it has an input.
    pub input: bool,
    /// Its outputs.
    pub outputs: Vec<Stream>,
    /// How its process ended, and when that was heard.
    pub exit: Option<(Exit, Time)>,
    /// Members of other users, by process id and start, whose end was asked of the daemon.
    pub errands: Vec<(u32, u64)>,
    /// Since when a raw output is waited for with a bound: its end was asked for, or its tree is gone.
    pub hurried: Option<Time>,
    /// When raw bytes came last after the exit, or a line that could bring them.
    arrived: Option<Time>,
    /// How many raw bytes came since the exit.
    late: u64,
    /// Whether it is a terminal.
    pub terminal: bool,
    /// When its reader is looked at next after the exit, and what that had taken then while more waited.
    look: Option<(Time, Option<u64>)>,
    /// Whether that has taken nothing since the look before.
    stalled: bool,
    /// Whether its tree is gone.
    pub gone: bool,
    /// Whether JavaScript has its outcome.
    pub settled: bool,
}

/// An output that is under way.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    /// Which.
    pub channel: OutputChannel,
    /// Whether it is complete, whoever holds its pipe.
    pub raw: bool,
    /// Whether it ended.
    pub ended: bool,
}

impl Active {
    /// What follows from what is to be started.
    pub fn new(command: Arc<Command>, start: Box<Start>) -> Self {
        let stream = |channel, output: &Output| Stream { channel, raw: matches!(output, Output::Raw), ended: false };
        let terminal = matches!(start.stdio, Stdio::Terminal { .. });
        let (input, outputs) = match &start.stdio {
            Stdio::Pipes { stdin, stdout, stderr } => {
                (*stdin, vec![stream(OutputChannel::Stdout, stdout), stream(OutputChannel::Stderr, stderr)])
            }
            Stdio::Terminal { .. } => (true, vec![Stream { channel: OutputChannel::Stdout, raw: true, ended: false }]),
        };
        Self {
            command,
            grace: Duration::from_millis(start.grace_ms.into()),
            start: Some(start),
            identity: None,
            input,
            outputs,
            exit: None,
            errands: Vec::new(),
            hurried: None,
            arrived: None,
            late: 0,
            terminal,
            look: None,
            stalled: false,
            gone: false,
            settled: false,
        }
    }

    /// One that a predecessor started and that runs, by its process id and that one's start. Its input was the predecessor's.
    pub fn adopted(command: Arc<Command>, identity: (u32, u64), stdio: &Stdio, grace_ms: u32) -> Self {
        let outputs = match stdio {
            Stdio::Pipes { stdout, stderr, .. } => [(OutputChannel::Stdout, stdout), (OutputChannel::Stderr, stderr)]
                .map(|(channel, output)| Stream { channel, raw: matches!(output, Output::Raw), ended: false })
                .to_vec(),
            Stdio::Terminal { .. } => Vec::new(),
        };
        Self {
            command,
            grace: Duration::from_millis(grace_ms.into()),
            start: None,
            identity: Some(identity),
            input: false,
            outputs,
            exit: None,
            errands: Vec::new(),
            hurried: None,
            arrived: None,
            late: 0,
            terminal: false,
            look: None,
            stalled: false,
            gone: false,
            settled: false,
        }
    }

    /// Notes the end of an output.
    pub fn end_output(&mut self, channel: OutputChannel) {
        for stream in self.outputs.iter_mut().filter(|stream| stream.channel == channel) {
            stream.ended = true;
        }
    }

    /// Ends the outputs whose reader went before there was anybody to tell of it.
    pub fn end_unwanted(&mut self) {
        for stream in self.outputs.iter_mut().filter(|stream| self.command.is_unwanted(stream.channel)) {
            stream.ended = true;
            self.command.finish(stream.channel, None);
        }
    }

    /// When a raw output is not waited for any longer; `None` while it is waited for without bound. What the tree's last member said
    /// may still be on its way when its end is known: the grace begins at the later of both, and anew with what arrives of that, since a
    /// slow line is no holder.
    pub fn raw_deadline(&self) -> Option<Time> {
        let (_, exited) = self.exit?;
        Some(exited.max(self.hurried?).max(self.arrived.unwrap_or_default()) + self.grace)
    }

    /// Raw bytes came.
    pub fn note_arrival(&mut self, now: Time, bytes: usize) {
        if self.exit.is_some() && self.late < ON_ITS_WAY {
            self.late += bytes as u64;
            self.arrived = Some(now);
        }
    }

    /// There is a line again on which what is missing can come.
    pub fn note_line(&mut self, now: Time) {
        if self.exit.is_some() {
            self.arrived = Some(now);
        }
    }

    /// Looks after the exit whether a terminal's reader goes on. Whoever pauses can't hold its outcome; what is still on its way is
    /// waited for. Gives when to look again.
    pub fn look_at_reader(&mut self, now: Time) -> Option<Time> {
        if !self.terminal || self.exit.is_none() || self.settled || self.look.is_some_and(|(next, _)| now < next) {
            return None;
        }
        let left_at = self.command.left_at(OutputChannel::Stdout);
        let before = self.look.replace((now + STALLED, left_at));
        self.stalled = left_at.is_some() && before.is_some_and(|(_, before)| before == left_at);
        Some(now + STALLED)
    }

    /// How it ended, if nothing has to be waited for any more.
    pub fn result(&self, now: Time) -> Option<Exit> {
        let (exit, _) = self.exit?;
        let patience_over = self.stalled || self.raw_deadline().is_some_and(|deadline| deadline <= now);
        let complete = self.outputs.iter().all(|stream| stream.ended || (stream.raw && patience_over));
        complete.then_some(exit)
    }

    /// Whether nothing more will be heard of it.
    pub fn is_over(&self) -> bool {
        self.settled && self.gone && self.outputs.iter().all(|stream| stream.ended)
    }
}

/// The stream of a command's output.
pub fn output_stream(command: CommandId, channel: OutputChannel) -> StreamId {
    StreamId { command, channel: channel.into() }
}

/// The stream of a command's input.
pub fn input_stream(command: CommandId) -> StreamId {
    StreamId { command, channel: Channel::Stdin }
}
