//! Commands of supervisors that were killed (C35): each is over once the next supervisor has said that nothing of it lives.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use protocol::{
    CommandId,
    control::{Exit, LostSession, Survivor, ToSupervisor},
};

use super::{Driver, active::Active, settle::last_outcome, survivor::Errand};
use crate::session::{
    command::{Command, Tree},
    errno::EPERM,
    failure::Failure,
};

/// How many members of other users are ended by the daemon's root for one answer.
const MOST: usize = 32;

/// A command whose supervisor was killed.
struct LostCommand {
    command: Arc<Command>,
    /// Process id and start, if its start was heard of.
    identity: Option<(u32, u64)>,
    /// How its process ended, if that was heard of.
    exit: Option<Exit>,
    /// What the last attempt left.
    survivors: Vec<Survivor>,
}

/// Everything that was lost and is not proven to have ended.
#[derive(Default)]
pub struct Lost {
    epochs: Vec<u64>,
    commands: HashMap<CommandId, LostCommand>,
    /// Whether a supervisor has been asked and not answered.
    asked: bool,
    /// Members of other users, by process id and start, whose end was asked of the daemon.
    errands: HashSet<(u32, u64)>,
    /// How many of these attempts are under way.
    under_way: usize,
}

impl Lost {
    /// The supervisor of this epoch was killed; another one has to be asked.
    pub fn add_epoch(&mut self, epoch: u64) {
        self.epochs.push(epoch);
        self.asked = false;
    }

    /// A command that it had heard of.
    pub fn add(&mut self, id: CommandId, active: Active) {
        let Active { command, identity, exit, .. } = active;
        let exit = exit.map(|(exit, _)| exit);
        self.commands.insert(id, LostCommand { command, identity, exit, survivors: Vec::new() });
    }

    /// Whether this command is one of them.
    pub fn has(&self, id: CommandId) -> bool {
        self.commands.contains_key(&id)
    }

    /// What is known to have survived.
    pub fn survivors(&self) -> Vec<Survivor> {
        self.commands.values().flat_map(|lost| lost.survivors.iter().cloned()).collect()
    }

    /// Nobody can be asked for now.
    pub fn give_up(&self, failure: &Failure) {
        for lost in self.commands.values() {
            lost.command.lose(Err(failure.clone()), Tree::Stuck(failure.clone()), failure.clone());
        }
    }

    /// The commands, for the end of the session.
    pub fn take(&mut self) -> impl Iterator<Item = (Arc<Command>, Option<Exit>)> {
        std::mem::take(&mut self.commands).into_values().map(|lost| (lost.command, lost.exit))
    }

    fn question(&self) -> ToSupervisor {
        let session = |(&command, lost): (&CommandId, &LostCommand)| {
            let (pid, start_time) = lost.identity?;
            Some(LostSession { command, pid, start_time })
        };
        ToSupervisor::EndLost {
            epochs: self.epochs.clone(),
            sessions: self.commands.iter().filter_map(session).collect(),
        }
    }

    fn settle(&mut self, survivors: &[Survivor]) {
        self.commands.retain(|&id, lost| {
            // A survivor of no known session may be of a command whose start was not heard of.
            let is_of_it =
                |survivor: &&Survivor| survivor.command == id || (survivor.command == 0 && lost.identity.is_none());
            lost.survivors = survivors.iter().filter(is_of_it).cloned().collect();
            if lost.survivors.is_empty() {
                lost.command.lose(Ok(last_outcome(lost.exit)), Tree::Gone, Failure::Killed);
                return false;
            }
            let tree = Tree::Stuck(Failure::Survived(lost.survivors.clone()));
            let is_own = |survivor: &Survivor| {
                lost.identity.is_none_or(|identity| identity == (survivor.pid, survivor.start_time))
            };
            if lost.survivors.iter().any(is_own) {
                lost.command.set_tree(tree);
            } else {
                lost.command.lose(Ok(last_outcome(lost.exit)), tree, Failure::Killed);
            }
            true
        });
        if self.commands.is_empty() {
            self.epochs.clear();
        }
        // Asked again later, they may be tried again.
        self.errands.clear();
    }
}

impl Driver {
    /// Asks the present supervisor to end what was lost, unless it is at it.
    pub(super) fn end_lost(&mut self) {
        let nothing = self.lost.epochs.is_empty() && self.lost.commands.is_empty();
        if !nothing && !self.lost.asked && self.lost.under_way == 0 {
            self.lost.asked = true;
            self.link.send(0, &self.lost.question());
        }
    }

    /// The supervisor has ended what it could.
    pub(super) fn on_lost_ended(&mut self, survivors: Vec<Survivor>) {
        self.lost.asked = false;
        for survivor in &survivors {
            let identity = (survivor.pid, survivor.start_time);
            if survivor.errno == EPERM && self.lost.errands.len() < MOST && self.lost.errands.insert(identity) {
                let attempt = self.parts.connector.end_process(survivor.pid, survivor.start_time);
                let (command, survivor) = (survivor.command, survivor.clone());
                self.lost.under_way += 1;
                self.errands
                    .push(Box::pin(async move { Errand { command, survivor, is_lost: true, outcome: attempt.await } }));
            }
        }
        if self.lost.under_way == 0 {
            self.lost.settle(&survivors);
        }
    }

    /// An attempt to end a member of another user is over; after the last one the supervisor looks again.
    pub(super) fn on_lost_errand(&mut self, errand: &Errand) {
        if let Err(reason) = &errand.outcome {
            tracing::info!(pid = errand.survivor.pid, reason, "a process of another user could not be ended");
        }
        self.lost.under_way -= 1;
        self.end_lost();
    }
}
