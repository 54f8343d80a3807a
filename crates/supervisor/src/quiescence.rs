//! When nobody of a session lives any more (C31), and the reaping of orphans.
//!
//! Whoever is in a command's session descends from its process. Once that has ended, every living member has among its
//! ancestors one that became our child as an orphan. So: no unknown living child, no member. Only where there are unknown
//! children is it asked whose they are, and only where none of them is of the session itself are all processes looked at.

use std::collections::HashSet;

use process::pidfd::PidFd;
use process::procfs::{self, Snapshot};
use process::{Pid, orphans, session};
use protocol::CommandId;

use crate::poller::{Interest, Token};
use crate::worker::Worker;

impl Worker {
    /// Reaps ended orphans and finds out which commands are gone.
    pub fn look_for_ends(&mut self) {
        let mut kept: HashSet<Pid> = self.commands.values().filter_map(|command| command.pid()).collect();
        self.pool.pids(&mut kept);
        let orphans = orphans::reap_except(&kept);
        let ended: Vec<(CommandId, Pid)> = self
            .commands
            .iter()
            .filter(|(_, command)| command.is_exited() && command.member.is_none())
            .filter_map(|(&id, command)| Some((id, command.pid()?)))
            .collect();
        let mut snapshot = None;
        for (id, leader) in ended {
            let member = match &orphans {
                Ok(orphans) if orphans.is_empty() => None,
                Ok(orphans) => member_among(orphans, leader).or_else(|| member_anywhere(&mut snapshot, leader)),
                Err(_) => member_anywhere(&mut snapshot, leader),
            };
            match member {
                None => self.on_gone(id),
                Some(member) => self.watch_member(id, member),
            }
        }
    }

    fn watch_member(&mut self, id: CommandId, member: PidFd) {
        let Some(command) = self.commands.get_mut(&id) else { return };
        // Unwatched, it is found again at the next end of any child.
        if self.poller.add(&member, Token::Member(id), Interest::Readable).is_ok() {
            command.member = Some(member);
        }
    }

    /// The watched member of a session ended; there may be others.
    pub fn on_member(&mut self, id: CommandId) {
        if let Some(member) = self.commands.get_mut(&id).and_then(|command| command.member.take()) {
            self.poller.remove(&member);
            self.look = true;
        }
    }
}

fn member_among(orphans: &[Pid], leader: Pid) -> Option<PidFd> {
    orphans.iter().find_map(|&pid| {
        // Our unreaped child: its number is its own, whether it lives or not.
        let in_session = rustix::process::getsid(Some(pid)).is_ok_and(|session| session == leader);
        PidFd::open(pid).ok().filter(|pidfd| in_session && pidfd.is_alive())
    })
}

fn member_anywhere(snapshot: &mut Option<Snapshot>, leader: Pid) -> Option<PidFd> {
    if snapshot.is_none() {
        *snapshot = procfs::snapshot().ok();
    }
    let members = match snapshot {
        Some(snapshot) if !snapshot.incomplete => session::members_in(snapshot, leader),
        _ => session::members(leader).ok()?,
    };
    members.into_iter().next().map(|member| member.pidfd)
}
