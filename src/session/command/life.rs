//! What the session and its driver know of a command's life.

use std::sync::{Arc, MutexGuard};

use protocol::{CommandId, control::OutputChannel};
use tokio::sync::mpsc::UnboundedSender;

use super::{Command, Outcome, Reserved, State, Tree, index};
use crate::session::{failure::Failure, op::Op, pool::Pool, wake::changed};

impl Command {
    /// Gives the command to a session. `reserved` replaces the id that it shows, when that came from another one.
    ///
    /// Returns the prepared process to use, or `None` when the command is over already.
    pub fn bind(&self, id: CommandId, ops: UnboundedSender<Op>, pool: &Arc<Pool>) -> Option<Option<u32>> {
        let mut state = self.lock();
        if state.outcome.is_some() || state.bound.is_some() {
            return None;
        }
        state.bound = Some((id, ops));
        if state.reserved.as_ref().is_some_and(|reserved| !Arc::ptr_eq(&reserved.pool, pool)) {
            state.give_back();
            state.pid = None;
        }
        if state.reserved.is_none()
            && let Some(pid) = pool.take()
        {
            state.reserved = Some(Reserved { pool: Arc::clone(pool), pid });
            state.pid = Some(pid);
            self.wakes.mark(self.id, changed::PID);
        }
        Some(state.reserved.as_ref().map(|reserved| reserved.pid))
    }

    /// Gives the command, which runs already, to a session.
    pub fn adopt(&self, id: CommandId, pid: u32, ops: UnboundedSender<Op>) {
        let mut state = self.lock();
        state.bound = Some((id, ops));
        state.pid = Some(pid);
    }

    /// An output goes on at this offset.
    pub fn resume(&self, channel: OutputChannel, offset: u64) {
        if let Some(output) = &mut self.lock().outputs[index(channel)] {
            output.resume(offset);
        }
    }

    /// The prepared process is no more: the command gets another id.
    pub fn forget_prepared(&self) {
        let mut state = self.lock();
        state.reserved = None;
        if state.pid.take().is_some() {
            self.wakes.mark(self.id, changed::PID);
        }
    }

    /// The command runs.
    pub fn started(&self, pid: u32, spill: [Option<String>; 2]) {
        let mut state = self.lock();
        state.reserved = None;
        for (output, path) in state.outputs.iter_mut().zip(spill) {
            if let (Some(output), Some(path)) = (output, path) {
                output.set_spill_path(path);
            }
        }
        state.started = true;
        state.pid = Some(pid);
        self.start_known.notify_all();
        self.wakes.mark(self.id, changed::PID);
    }

    /// The command could not be started, or was called off: its id reads as none from now on, its streams end.
    pub fn start_failed(&self, outcome: Result<Outcome, Failure>, unsent: bool) {
        self.end(self.lock(), Some(outcome), unsent);
    }

    /// Its session is over: what is not known yet will not be. With `outcome` the command ends with it,
    /// `tree` is what is known of its processes, `why` what happened.
    pub fn lose(&self, outcome: Result<Outcome, Failure>, tree: Tree, why: Failure) {
        let mut state = self.lock();
        let broken = outcome.is_err();
        state.outcome.get_or_insert(outcome);
        state.lost.get_or_insert(why);
        if state.tree != Tree::Gone {
            state.tree = tree;
        }
        state.end_streams(broken);
        self.wakes.mark(self.id, changed::OUTCOME | changed::TREE | changed::STDOUT | changed::STDERR | changed::STDIN);
        self.recount(&mut state);
    }

    pub(super) fn end(
        &self,
        mut state: MutexGuard<'_, State>,
        outcome: Option<Result<Outcome, Failure>>,
        unsent: bool,
    ) {
        if unsent {
            state.give_back();
        }
        state.reserved = None;
        state.pid = None;
        if state.outcome.is_none() {
            state.outcome = outcome;
        }
        state.tree = Tree::Gone;
        state.end_streams(false);
        let all = changed::PID | changed::OUTCOME | changed::TREE | changed::STDOUT | changed::STDERR | changed::STDIN;
        self.wakes.mark(self.id, all);
        self.recount(&mut state);
    }

    /// It ended.
    pub fn settle(&self, outcome: Result<Outcome, Failure>) {
        let mut state = self.lock();
        state.outcome.get_or_insert(outcome);
        self.wakes.mark(self.id, changed::OUTCOME);
        self.recount(&mut state);
    }

    /// Something about its tree is known.
    pub fn set_tree(&self, tree: Tree) {
        let mut state = self.lock();
        if state.tree == Tree::Gone {
            return;
        }
        state.tree = tree;
        self.wakes.mark(self.id, changed::TREE);
        self.recount(&mut state);
    }
}
