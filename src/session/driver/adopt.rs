//! What a predecessor with the same secrets left running (C80): commands are listed, and go on under this host when it wants them.
//!
//! A host that kept nothing hears of streams before it knows their commands. What it hears is held, until the list says which commands there
//! are, and then until each is adopted; what is held is at most what the predecessor had let the supervisor send.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use bytes::Bytes;
use protocol::{
    CommandId,
    control::{OutputChannel, Running, Stdio, StreamEnd, ToSupervisor},
};

use super::{
    Driver,
    active::{Active, output_stream},
};
use crate::session::{
    command::Command,
    failure::Failure,
    request::{Answer, Request, RunningCommand},
};

/// Commands that nobody here has started.
#[derive(Debug, Default)]
pub struct Found {
    asking: Vec<Arc<Request>>,
    /// Known by the list: each, and up to which offsets its outputs have come.
    listed: HashMap<CommandId, Running>,
    has_list: bool,
    held: HashMap<CommandId, VecDeque<Held>>,
    /// The numbers that this host has given, first and last: what is late about one of these is nothing that was found.
    own: Option<(CommandId, CommandId)>,
}

/// Something that was heard of a command before it was adopted.
#[derive(Debug)]
pub enum Held {
    /// Bytes of an output.
    Data(OutputChannel, Bytes),
    /// The end of an output.
    End(OutputChannel, StreamEnd),
    /// A message.
    Control(Bytes),
}

impl Found {
    /// Those who wait for the list.
    pub fn take_asking(&mut self) -> Vec<Arc<Request>> {
        std::mem::take(&mut self.asking)
    }

    /// This number was given here.
    pub fn note_own(&mut self, id: CommandId) {
        let (first, _) = *self.own.get_or_insert((id, id));
        self.own = Some((first, id));
    }

    fn is_own(&self, id: CommandId) -> bool {
        self.own.is_some_and(|(first, last)| (first..=last).contains(&id))
    }

    /// Whether anybody waits for the list.
    pub fn is_asked(&self) -> bool {
        !self.asking.is_empty()
    }

    /// Another supervisor is there: it has nothing that is known here.
    pub fn forget(&mut self) {
        self.listed.clear();
        self.held.clear();
    }
}

impl Held {
    fn len_of(&self, of: OutputChannel) -> usize {
        match self {
            Self::Data(channel, bytes) if *channel == of => bytes.len(),
            _ => 0,
        }
    }
}

impl Driver {
    /// Asks which commands there are.
    pub(super) fn list_running(&mut self, request: Arc<Request>) {
        self.found.asking.push(request);
        self.link.send(0, &ToSupervisor::ListRunning);
    }

    /// The list came: what is not in it is over, and nobody will ask for it.
    pub(super) fn on_running(&mut self, running: Vec<Running>) {
        let unknown = running.into_iter().filter(|one| {
            !self.commands.contains_key(&one.command)
                && matches!(one.stdio, Stdio::Pipes { .. })
                && !self.found.is_own(one.command)
        });
        let unknown: Vec<Running> = unknown.collect();
        let found = &mut self.found;
        for one in unknown {
            found.listed.entry(one.command).or_insert(one);
        }
        found.has_list = true;
        let Found { listed, held, .. } = found;
        held.retain(|id, _| listed.contains_key(id));
        let text = |word: &serde_bytes::ByteBuf| String::from_utf8_lossy(word).into_owned();
        let mut answer: Vec<RunningCommand> = listed
            .values()
            .map(|one| RunningCommand { id: one.command, pid: one.pid, argv: one.argv.iter().map(text).collect() })
            .collect();
        answer.sort_by_key(|one| one.id);
        for request in found.asking.drain(..) {
            request.answer(Ok(Answer::Running(answer.clone())));
        }
    }

    /// Holds what was heard of a command that nobody here has started, if it may be asked for. Returns whether it was such.
    pub(super) fn hold(&mut self, id: CommandId, held: Held) -> bool {
        let found = &mut self.found;
        let may_be_found = self.parts.settings.resumes && (!found.has_list || found.listed.contains_key(&id));
        if id == 0 || self.commands.contains_key(&id) || found.is_own(id) || !may_be_found {
            return false;
        }
        if let (Held::Data(channel, bytes), Some(one)) = (&held, found.listed.get_mut(&id)) {
            let offset = &mut one.offsets[usize::from(*channel == OutputChannel::Stderr)];
            *offset = offset.saturating_add(bytes.len() as u64);
        }
        found.held.entry(id).or_default().push_back(held);
        true
    }

    /// Goes on with a listed command as with one that was started here.
    pub(super) fn adopt(&mut self, id: CommandId, command: &Arc<Command>, grace_ms: u32) {
        let Some(Running { pid, start_time, stdio, offsets, .. }) = self.found.listed.remove(&id) else {
            return command.start_failed(Err(Failure::NotRunning(id)), true);
        };
        let held = self.found.held.remove(&id).unwrap_or_default();
        let active = Active::adopted(Arc::clone(command), (pid, start_time), &stdio, grace_ms);
        self.commands.insert(id, active);
        for (channel, came) in [OutputChannel::Stdout, OutputChannel::Stderr].into_iter().zip(offsets) {
            let waiting: usize = held.iter().map(|one| one.len_of(channel)).sum();
            command.resume(channel, came.saturating_sub(waiting as u64));
            self.link.adopt_incoming(output_stream(id, channel), came);
        }
        command.started(pid, [None, None]);
        for one in held {
            match one {
                Held::Data(channel, bytes) => {
                    command.push(channel, &bytes);
                    command.announce(channel);
                }
                Held::End(channel, end) => self.on_output_end(id, channel, end),
                Held::Control(message) => self.on_control(id, &message),
            }
        }
    }
}
