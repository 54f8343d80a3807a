//! What the supervisor says about commands.

use std::sync::Arc;

use protocol::{
    CommandId,
    control::{FromSupervisor, ResolveFailure, SignalFailure, StartFailure, decode},
    wire::Kind,
};
use serde_bytes::ByteBuf;

use super::{Driver, Over, active::input_stream};
use crate::session::{
    command::{Outcome, Tree},
    errno::EPERM,
    failure::Failure,
    output::Output,
    request::{Answer, Request},
};

impl Driver {
    pub(super) fn on_control(&mut self, id: CommandId, message: &[u8]) {
        let Ok(message) = decode::<FromSupervisor>(Kind::Control, message) else {
            return self.distrust("a message that is none");
        };
        let now = self.clock.now();
        match message {
            FromSupervisor::Prepared { pids } => {
                if pids.iter().any(|pid| !is_process(*pid)) {
                    return self.distrust("an impossible process id");
                }
                self.parts.pool.add(pids);
            }
            FromSupervisor::Started { pid, start_time, spill } => self.started(id, (pid, start_time), spill),
            FromSupervisor::StartFailed(failure) => self.start_failed(id, failure),
            FromSupervisor::Exited(exit) => {
                if let Some(active) = self.commands.get_mut(&id) {
                    active.exit.get_or_insert((exit, now));
                    self.note_deadline(id);
                    self.settle_if_over(id);
                }
            }
            FromSupervisor::Gone => {
                if let Some(active) = self.commands.get_mut(&id) {
                    active.gone = true;
                    active.hurried.get_or_insert(now);
                    active.command.set_tree(Tree::Gone);
                    active.command.close_input();
                    self.note_deadline(id);
                    self.settle_if_over(id);
                }
            }
            FromSupervisor::CleanupFailed(survivor) => self.on_survivor(id, survivor),
            FromSupervisor::StdinClosed => {
                if let Some(active) = self.commands.get(&id) {
                    active.command.close_input();
                    self.link.close_outgoing(input_stream(id));
                }
            }
            FromSupervisor::Spilled { output, offset } => {
                if let Some(active) = self.commands.get(&id) {
                    active.command.spill(output, |output| output.set_spilled(offset));
                }
            }
            FromSupervisor::SpillLost { output } => {
                if let Some(active) = self.commands.get(&id) {
                    active.command.spill(output, Output::lose_spill);
                }
            }
            FromSupervisor::Resolved(result) => self.resolved(id, result),
            FromSupervisor::Foreground { request, group } => {
                // What was shown before is not told after the answer.
                self.news.tell(now);
                if let Some(request) = self.questions.remove(&(id, request)) {
                    request.answer(Ok(Answer::Foreground(group)));
                }
            }
            FromSupervisor::ForegroundSignalled { request, result } => {
                self.news.tell(now);
                if let Some(request) = self.questions.remove(&(id, request)) {
                    self.signalled(request, result);
                }
            }
            FromSupervisor::Running(running) => self.on_running(running),
            FromSupervisor::Ended { mut survivors } => {
                survivors.extend(self.lost.survivors());
                self.take_leave(if survivors.is_empty() {
                    Over::Ended
                } else {
                    Over::Failed(Failure::Survived(survivors))
                });
            }
            FromSupervisor::LostEnded { survivors } => self.on_lost_ended(survivors),
        }
    }

    /// Tells how the signal to a group in front went, once root was asked for members of another user (C53).
    fn signalled(&self, request: Arc<Request>, result: Result<u32, SignalFailure>) {
        let failure = match result {
            Ok(group) => return request.answer(Ok(Answer::Group(group))),
            Err(SignalFailure::NoGroup) => Failure::NoForeground,
            Err(SignalFailure::OwnShell) => Failure::OwnShell,
            Err(SignalFailure::Errno(errno)) => Failure::Signal(errno),
            Err(SignalFailure::Denied { group, reached, signal, members }) => {
                let attempt = self.parts.connector.signal_processes(signal, members);
                // It has its own bound of time, and the answer nobody else.
                tokio::spawn(async move {
                    let sent = attempt.await;
                    if let Err(reason) = &sent {
                        tracing::info!(group, reason, "members of another user could not be signalled");
                    }
                    // As the kernel has it, a group was signalled if one of it was.
                    let is_sent = reached || sent.is_ok();
                    request.answer(if is_sent { Ok(Answer::Group(group)) } else { Err(Failure::Signal(EPERM)) });
                });
                return;
            }
        };
        request.answer(Err(failure));
    }

    fn started(&mut self, id: CommandId, identity: (u32, u64), spill: [Option<ByteBuf>; 2]) {
        let (pid, _) = identity;
        if !is_process(pid) {
            return self.distrust("an impossible process id");
        }
        let Some(active) = self.commands.get_mut(&id) else { return };
        active.start = None;
        active.identity = Some(identity);
        active.command.started(pid, spill.map(|path| path.map(|path| String::from_utf8_lossy(&path).into_owned())));
    }

    fn start_failed(&mut self, id: CommandId, failure: StartFailure) {
        let Some(active) = self.commands.get(&id) else { return };
        let command = Arc::clone(&active.command);
        self.forget(id);
        let outcome = if Failure::is_cancelled(&failure) {
            Ok(Outcome::signalled("SIGTERM"))
        } else {
            Err(Failure::Start { program: command.program().to_owned(), failure })
        };
        command.start_failed(outcome, false);
    }

    fn resolved(&mut self, id: CommandId, result: Result<ByteBuf, ResolveFailure>) {
        let Some((request, resolve)) = self.lookups.remove(&id) else { return };
        self.link.forget(id);
        let name = || String::from_utf8_lossy(&resolve.command).into_owned();
        request.answer(match result {
            Ok(path) => Ok(Answer::Path(String::from_utf8_lossy(&path).into_owned())),
            Err(ResolveFailure::NotOnPath) => Err(Failure::NotOnPath(name())),
            Err(ResolveFailure::NotExecutable) => Err(Failure::NotExecutable(name())),
        });
    }

    /// The supervisor says what ours never says: somebody else sits there.
    fn distrust(&mut self, what: &str) {
        self.finish(Over::Failed(Failure::Delivery(format!("the supervisor in the sandbox sent {what}"))));
    }
}

/// Whether this can be the id of a command. Whoever signals a handle's `pid` must never reach init or a group of 1.
fn is_process(pid: u32) -> bool {
    pid > 1 && i32::try_from(pid).is_ok()
}
