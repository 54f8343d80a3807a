//! Members of a tree that the supervisor may not end, since they belong to another user: asked of the daemon's root (C30).

use protocol::{
    CommandId,
    control::{Survivor, ToSupervisor},
};

use super::Driver;
use crate::session::{command::Tree, errno::EPERM, failure::Failure};

/// How many such members of one command are ended this way: a tree that keeps making them is reported.
const MOST: usize = 32;

/// An attempt to end one.
pub struct Errand {
    /// Of which command.
    pub command: CommandId,
    /// Whom.
    pub survivor: Survivor,
    /// Whether it is of a command whose supervisor was killed.
    pub is_lost: bool,
    /// Whether it was ended; else why not.
    pub outcome: Result<(), String>,
}

impl Driver {
    /// The supervisor could not end a member of a command's tree.
    pub(super) fn on_survivor(&mut self, command: CommandId, survivor: Survivor) {
        let Some(active) = self.commands.get_mut(&command) else { return };
        let identity = (survivor.pid, survivor.start_time);
        if survivor.errno != EPERM || active.errands.len() >= MOST || active.errands.contains(&identity) {
            // Asked again later, it may be tried again.
            active.errands.clear();
            active.command.set_tree(Tree::Stuck(Failure::Survived(vec![survivor])));
            return;
        }
        active.errands.push(identity);
        let attempt = self.parts.connector.end_process(survivor.pid, survivor.start_time);
        self.errands
            .push(Box::pin(async move { Errand { command, survivor, is_lost: false, outcome: attempt.await } }));
    }

    /// An attempt is over: the supervisor looks again.
    pub(super) fn on_errand(&mut self, errand: Errand) {
        if errand.is_lost {
            return self.on_lost_errand(&errand);
        }
        let Some(active) = self.commands.get_mut(&errand.command) else { return };
        match errand.outcome {
            Ok(()) => self.link.send(errand.command, &ToSupervisor::Terminate),
            Err(reason) => {
                tracing::info!(pid = errand.survivor.pid, reason, "a member of another user could not be ended");
                active.errands.clear();
                active.command.set_tree(Tree::Stuck(Failure::Survived(vec![errand.survivor])));
            }
        }
    }
}
