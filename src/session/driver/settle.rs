//! When a command is over.

use protocol::{CommandId, control::Exit};

use super::Driver;
use crate::session::{command::Outcome, signal};

impl Driver {
    /// Remembers when a raw output is not waited for any longer (C22).
    pub(super) fn note_deadline(&mut self, id: CommandId) {
        let Some(active) = self.commands.get(&id) else { return };
        if let Some(deadline) = active.raw_deadline()
            && !active.settled
        {
            self.deadlines.insert((deadline, id));
        }
    }

    /// Tells JavaScript the outcome if nothing has to be waited for, and forgets the command if nothing will be heard of it.
    pub(super) fn settle_if_over(&mut self, id: CommandId) {
        let now = self.clock.now();
        let Some(active) = self.commands.get_mut(&id) else { return };
        let look = active.look_at_reader(now);
        if !active.settled
            && let Some(exit) = active.result(now)
        {
            active.settled = true;
            active.command.settle(Ok(outcome(exit)));
        } else {
            let deadline = active.raw_deadline().filter(|deadline| !active.settled && *deadline > now);
            self.deadlines.extend(look.into_iter().chain(deadline).map(|due| (due, id)));
        }
        if active.is_over() {
            self.forget(id);
        }
    }
}

/// How a command ended of which nothing more will be heard: as it is known, else killed.
pub(super) fn last_outcome(exit: Option<Exit>) -> Outcome {
    outcome(exit.unwrap_or(Exit::Unknown))
}

/// An exit in Node's words (C20).
fn outcome(exit: Exit) -> Outcome {
    match exit {
        Exit::Code(code) => Outcome { exit_code: Some(code), signal: None },
        Exit::Signal { number, .. } => Outcome::signalled(&signal::name(number)),
        // Only a killed supervisor leaves nobody to know it.
        Exit::Unknown => Outcome::signalled("SIGKILL"),
    }
}
