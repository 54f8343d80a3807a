//! A sandbox that stayed unreachable for too long (C82): whoever waits is told what was lost (C21). The session itself stays, since what
//! runs in the sandbox may still be there: the next wish tries to reach it again, and a tree can be ended then (C32).

use std::sync::Arc;

use protocol::CommandId;

use super::{Driver, absence::Absence, line::Line};
use crate::session::{
    command::{Command, Tree},
    failure::Failure,
    op::Op,
};

impl Driver {
    /// Tells everybody, and does nothing more by itself.
    pub(super) fn give_up(&mut self, failure: &Failure) {
        tracing::info!(sandbox = self.parts.sandbox, %failure, "given up until something is wanted");
        self.absence = None;
        self.line = Line::Idle { retry_at: None };
        let ids: Vec<CommandId> = self.commands.keys().copied().collect();
        for id in ids {
            self.lose(id, failure);
        }
        self.lost.give_up(failure);
        for (id, (request, _)) in self.lookups.drain() {
            self.link.take_back(id);
            request.answer(Err(failure.clone()));
        }
        for (_, request) in self.questions.drain() {
            request.answer(Err(failure.clone()));
        }
        for request in self.found.take_asking() {
            request.answer(Err(failure.clone()));
        }
        for request in self.shutdown.drain(..) {
            request.answer(Err(failure.clone()));
        }
    }

    /// What the supervisor may have heard of can still run; what it has not never will.
    fn lose(&mut self, id: CommandId, failure: &Failure) {
        let Some(active) = self.commands.get_mut(&id) else { return };
        let command: Arc<Command> = Arc::clone(&active.command);
        if self.link.take_back(id) {
            self.forget(id);
            return command.start_failed(Err(failure.clone()), false);
        }
        active.settled = true;
        command.lose(Err(failure.clone()), Tree::Stuck(failure.clone()), failure.clone());
    }

    /// Something is wanted: if the sandbox was given up, it is tried again.
    pub(super) fn wake_for(&mut self, op: &Op) {
        let needs_sandbox = matches!(
            op,
            Op::Start(..)
                | Op::Terminate(_)
                | Op::ListRunning(_)
                | Op::Adopt(..)
                | Op::Resolve(..)
                | Op::Inspect(..)
                | Op::Signal(..)
                | Op::Shutdown(_)
        );
        if needs_sandbox && matches!(self.line, Line::Idle { retry_at: None }) {
            let now = self.clock.now();
            self.absence = Some(Absence::new(now));
            self.line = Line::Idle { retry_at: Some(now) };
        }
    }
}
