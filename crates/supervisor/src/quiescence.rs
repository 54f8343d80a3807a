//! When nobody of a session lives any more (C31), and the reaping of orphans.
//!
//! Whoever is in a command's session descends from its process. Once that has ended, every living member has among its
//! ancestors one that became our child as an orphan, or that was made as one (`CLONE_PARENT`), which its group tells. So: no unknown
//! living child, no member. Only where there are unknown children is it asked whose they are, and only where none of them is of the
//! session itself are all processes looked at.

use std::collections::HashSet;
use std::time::Duration;

use process::pidfd::PidFd;
use process::session::{self, Search, Seen};
use process::table::{self, Snapshot};
use process::{Pid, orphans};
use protocol::{CommandId, Time};

use crate::poller::{Interest, Token};
use crate::worker::Worker;

/// First wait before a watched member is asked whether it is still in its session.
const FIRST_LOOK: Duration = Duration::from_millis(10);
/// Longest such wait.
const LONGEST_LOOK: Duration = Duration::from_secs(1);
/// How many passes over all processes are made for one session in one turn.
const PASSES: usize = 4;

/// A living member of a session, whose end is waited for.
pub struct Watched {
    pid: Pid,
    pidfd: PidFd,
    again_at: Time,
    pause: Duration,
}

impl Watched {
    /// When it is to be asked again.
    pub fn wakes(&self) -> Time {
        self.again_at
    }
}

impl Worker {
    /// Reaps ended orphans and finds out which commands are gone.
    pub fn look_for_ends(&mut self) {
        self.pool.reap_leaving();
        let orphans = orphans::reap_orphans(|| self.children());
        let ended: Vec<(CommandId, Pid)> = self
            .commands
            .stirred()
            .filter(|(_, command)| command.is_exited() && command.member.is_none())
            .filter_map(|(id, command)| Some((id, command.pid()?)))
            .collect();
        let mut passes = Passes::default();
        self.look_at = None;
        for (id, leader) in ended {
            let found = match &orphans {
                Ok(orphans) if orphans.is_empty() && session::has_no_living_child(leader) => Found::Nobody,
                Ok(orphans) => member_among(orphans, leader).unwrap_or_else(|| passes.look(leader)),
                Err(_) => passes.look(leader),
            };
            match found {
                Found::Nobody => self.on_gone(id),
                Found::Member(pid, pidfd) => self.watch_member(id, pid, pidfd),
                Found::Unsure => self.look_at = Some(self.now + FIRST_LOOK),
            }
        }
    }

    /// Children that are no orphans.
    pub fn children(&self) -> HashSet<Pid> {
        let mut children: HashSet<Pid> = self.commands.iter().filter_map(|(_, command)| command.pid()).collect();
        self.pool.pids(&mut children);
        children
    }

    fn watch_member(&mut self, id: CommandId, pid: Pid, pidfd: PidFd) {
        let Some(command) = self.commands.get_mut(&id) else { return };
        // Unwatched, it is found again at the next end of any child.
        if self.poller.add(&pidfd, Token::Member(id), Interest::Readable).is_ok() {
            command.member = Some(Watched { pid, pidfd, again_at: self.now + FIRST_LOOK, pause: FIRST_LOOK });
        }
    }

    /// The watched member of a session ended; there may be others.
    pub fn on_member(&mut self, id: CommandId) {
        if let Some(member) = self.commands.get_mut(&id).and_then(|command| command.member.take()) {
            self.poller.remove(&member.pidfd);
            self.look = true;
        }
    }

    /// A member that lives may leave its session, and no event tells: so it is asked, less and less often.
    pub fn look_for_leavers(&mut self) {
        let now = self.now;
        let mut left = Vec::new();
        let watched: Vec<CommandId> =
            self.commands.stirred().filter(|(_, command)| command.member.is_some()).map(|(id, _)| id).collect();
        for id in watched {
            let Some(command) = self.commands.get_mut(&id) else { continue };
            let leader = command.pid();
            let Some(member) = command.member.as_mut().filter(|member| member.again_at <= now) else { continue };
            member.pause = (member.pause * 2).min(LONGEST_LOOK);
            member.again_at = now + member.pause;
            if rustix::process::getsid(Some(member.pid)).ok() != leader {
                left.push(id);
            }
        }
        for id in left {
            self.on_member(id);
        }
    }
}

/// What is found of a session.
enum Found {
    /// A living member.
    Member(Pid, PidFd),
    /// Nobody is left.
    Nobody,
    /// It could not be learned.
    Unsure,
}

fn member_among(orphans: &[Pid], leader: Pid) -> Option<Found> {
    orphans.iter().find_map(|&pid| {
        // Our unreaped child: its number is its own, whether it lives or not.
        let in_session = rustix::process::getsid(Some(pid)).is_ok_and(|session| session == leader);
        let pidfd = PidFd::open(pid).ok().filter(|pidfd| in_session && pidfd.is_alive())?;
        Some(Found::Member(pid, pidfd))
    })
}

/// Passes over all processes: one serves as many sessions as it can.
struct Passes {
    latest: Option<Snapshot>,
    search: Search,
}

impl Default for Passes {
    fn default() -> Self {
        Self { latest: None, search: Search::behind_leaders() }
    }
}

impl Passes {
    fn look(&mut self, leader: Pid) -> Found {
        for _ in 0..PASSES {
            let snapshot = match self.latest.take() {
                Some(snapshot) => snapshot,
                None => match table::snapshot() {
                    Ok(snapshot) => snapshot,
                    // Without a table, what the kernel says of our own children must do. One that only can't be read now may yet be.
                    Err(error) if !table::is_want(&error) && session::has_no_living_child(leader) => {
                        return Found::Nobody;
                    }
                    Err(_) => return Found::Unsure,
                },
            };
            let seen = self.search.look(&snapshot, leader);
            if !matches!(seen, Seen::Unsure) {
                self.latest = Some(snapshot);
                let member = seen.into_members().into_iter().next();
                let found =
                    member.and_then(|member| Some(Found::Member(Pid::from_raw(member.stat.pid)?, member.pidfd)));
                return found.unwrap_or(Found::Nobody);
            }
        }
        Found::Unsure
    }
}
