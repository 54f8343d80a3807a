//! The end of the session: everybody who waits is told.

use std::time::Duration;

use protocol::Time;

use super::{Driver, Over, settle::last_outcome};
use crate::session::{
    command::{Outcome, Tree},
    failure::Failure,
    op::Op,
    request::Answer,
};

/// How long the supervisor may take to go after its last word.
const FAREWELL: Duration = Duration::from_secs(4);

impl Driver {
    /// The supervisor has said its last word: it goes when it knows that this was heard, and then its connection ends.
    pub(super) fn take_leave(&mut self, over: Over) {
        let until = self.clock.now() + FAREWELL;
        self.leave.get_or_insert((over, until));
    }

    /// Ends the session if the supervisor has gone, or does not.
    pub(super) fn leave(&mut self, now: Option<Time>) -> bool {
        match self.leave.take() {
            Some((over, until)) if now.is_none_or(|now| until <= now) => {
                self.finish(over);
                true
            }
            leave => {
                self.leave = leave;
                false
            }
        }
    }

    /// Settles whatever is open. Nothing is asked of this driver afterwards that it would not have answered here.
    pub(super) fn close(&mut self) {
        let over = self.end.clone().unwrap_or(Over::Failed(Failure::Closed));
        // Noted before the wishes are closed: whoever finds them closed finds the reason.
        self.note_over(&over);
        self.parts.ops.close();
        self.parts.pool.close();
        while let Ok(op) = self.parts.ops.try_recv() {
            self.on_last_op(op, &over);
        }
        let failure = self.failure(&over);
        for (was_sent, command, exit) in self.take_commands() {
            match (&over, was_sent) {
                (Over::Gone | Over::Ended, true) => {
                    command.lose(Ok(last_outcome(exit)), Tree::Gone, failure.clone());
                }
                (Over::Ended, false) => command.start_failed(Ok(Outcome::signalled("SIGTERM")), false),
                (Over::Failed(_), true) => {
                    command.lose(Err(failure.clone()), Tree::Stuck(failure.clone()), failure.clone());
                }
                (Over::Gone | Over::Failed(_), false) => command.start_failed(Err(failure.clone()), false),
            }
        }
        for (_, (request, _)) in self.lookups.drain() {
            request.answer(Err(failure.clone()));
        }
        for request in self.found.take_asking() {
            request.answer(Err(failure.clone()));
        }
        for (_, request) in self.questions.drain() {
            request.answer(Err(failure.clone()));
        }
        // What was never there has not to be removed.
        let is_clean = matches!(over, Over::Gone | Over::Ended) || self.link.epoch() == 0;
        for request in self.shutdown.drain(..) {
            request.answer(if is_clean { Ok(Answer::Done) } else { Err(failure.clone()) });
        }
    }

    fn failure(&self, over: &Over) -> Failure {
        match over {
            Over::Gone => Failure::Gone(self.parts.sandbox.clone()),
            Over::Ended => Failure::Closed,
            Over::Failed(failure) => failure.clone(),
        }
    }

    fn on_last_op(&mut self, op: Op, over: &Over) {
        let failure = self.failure(over);
        match op {
            Op::Start(_, command, _) | Op::Adopt(_, command, _) => command.start_failed(Err(failure), false),
            Op::ListRunning(request)
            | Op::Resolve(_, request, _)
            | Op::Inspect(_, request)
            | Op::Signal(_, request, _) => request.answer(Err(failure)),
            Op::Shutdown(request) => self.shutdown.push(request),
            Op::Input(_)
            | Op::InputFirst(..)
            | Op::Consumed(..)
            | Op::CloseOutput(..)
            | Op::Terminate(_)
            | Op::Resize(..)
            | Op::Gone
            | Op::Close => {}
        }
    }
}
