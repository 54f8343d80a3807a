//! How a command ends.

use process::exit;
use protocol::control::{self, FromSupervisor};
use protocol::{Channel, CommandId, StreamId};

use super::Phase;
use crate::memory;
use crate::worker::Worker;

/// So many commands at once leave a heap behind that is worth giving back.
const CROWD: usize = 64;

impl Worker {
    /// A command's own process ended. It stays a zombie until its session is empty.
    pub fn on_leader(&mut self, id: CommandId) {
        let Some(command) = self.commands.get_mut(&id) else { return };
        let Some((pid, pidfd)) = command.leader.as_ref().filter(|_| matches!(command.phase, Phase::Running)) else {
            return;
        };
        let exit = match exit::observe(*pid) {
            Ok(Some(exit)) => wire_exit(exit),
            Ok(None) => return,
            // Not ours any more; cannot happen while it is kept, and must not leave the host waiting.
            Err(_) => control::Exit::Unknown,
        };
        // It stays readable for as long as it is there.
        self.poller.remove(pidfd);
        command.phase = Phase::Exited;
        self.link.send(id, &FromSupervisor::Exited(exit));
        self.look = true;
    }

    /// Nobody of a command's session lives any more.
    pub fn on_gone(&mut self, id: CommandId) {
        let Some(command) = self.commands.get_mut(&id) else { return };
        if let Some((pid, _)) = command.leader.take() {
            // From here on its number may be anybody's.
            let _ = exit::reap(pid);
        }
        command.phase = Phase::Gone;
        self.link.send(id, &FromSupervisor::Gone);
        if command.stdin.file().is_some() {
            command.stdin.close(&self.poller);
            self.link.send(id, &FromSupervisor::StdinClosed);
            self.link.close_incoming(StreamId { command: id, channel: Channel::Stdin });
        }
    }

    /// Forgets commands about which nothing is left to say.
    pub fn forget_finished(&mut self) {
        let over: Vec<CommandId> =
            self.commands.stirred().filter(|(_, command)| command.is_over()).map(|(id, _)| id).collect();
        for id in over {
            self.commands.remove(&id);
            self.link.close_incoming(StreamId { command: id, channel: Channel::Stdin });
            self.finished.push(id);
            self.crowd = self.crowd.max(self.commands.len() + 1);
        }
        // After a crowd, not after each command: it takes a moment.
        if self.commands.is_empty() && self.crowd >= CROWD {
            self.crowd = 0;
            self.commands.shrink_to_fit();
            memory::give_back();
        }
    }

    /// Lets the link forget finished commands, once the host has all that was said about them.
    pub fn forget_delivered(&mut self) {
        if self.link.retained() == 0 {
            for id in self.finished.drain(..) {
                self.link.forget(id);
            }
        }
    }
}

fn wire_exit(exit: exit::Exit) -> control::Exit {
    let byte = |number: i32| u8::try_from(number & 0xff).unwrap_or_default();
    match exit {
        exit::Exit::Code(code) => control::Exit::Code(byte(code)),
        exit::Exit::Signal { number, core } => control::Exit::Signal { number: byte(number), core },
    }
}
