//! Ending what a keeper left that was killed together with its own guardian: its programs are nobody's children any more.
//!
//! They are known by the mark of that life, which every descendant carries, in whatever session, and by their sessions, whose
//! leaders' numbers and start times somebody else remembered. A number alone proves nothing: it may be anybody's by now (C33).

use std::collections::{HashMap, HashSet};
use std::io;

use rustix::process::Pid;

use crate::mark::Mark;
use crate::pidfd::PidFd;
use crate::table::{self, Snapshot, Stat};

/// How often new members are looked for after a signal.
const ROUNDS: usize = 16;

/// What is looked for.
#[derive(Debug, Clone, Default)]
pub struct Lost {
    /// Sessions by the number of their leader, with the leader's start in clock ticks since boot.
    pub sessions: HashMap<i32, u64>,
    /// Marks of the lives that started them.
    pub marks: HashSet<Mark>,
    /// Whether programs of those lives certainly carried their mark. Then a session whose leader has gone is only known by it;
    /// else everybody in a session of that number is taken for a member.
    pub all_marked: bool,
}

/// A process of them that was alive in the last look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remnant {
    /// Its process id.
    pub pid: i32,
    /// Its session.
    pub session: i32,
    /// Its start in clock ticks since boot.
    pub start_time: u64,
    /// Whether it may not be signalled: it belongs to another user.
    pub denied: bool,
}

impl Lost {
    /// SIGKILL to every one of them until a look finds no new one; who was alive in the last look. None is proof that all ended.
    pub fn kill(&self) -> io::Result<Vec<Remnant>> {
        let mut seen: HashSet<(i32, u64)> = HashSet::new();
        let mut living = Vec::new();
        for _ in 0..ROUNDS {
            let snapshot = table::snapshot()?;
            living = self.kill_in(&snapshot);
            let found = living.iter().map(|remnant| (remnant.pid, remnant.start_time));
            // Who vanished or ended may have left a child that this look missed; whose zombie it is can't be told any more.
            let zombies = snapshot.processes.iter().filter(|stat| stat.state == b'Z');
            let fresh =
                found.chain(zombies.map(|stat| (stat.pid, stat.start_time))).filter(|&one| seen.insert(one)).count();
            if fresh == 0 && !snapshot.incomplete {
                break;
            }
        }
        Ok(living)
    }

    fn kill_in(&self, snapshot: &Snapshot) -> Vec<Remnant> {
        let starts: HashMap<i32, u64> = snapshot.processes.iter().map(|stat| (stat.pid, stat.start_time)).collect();
        let in_session = |stat: &Stat| {
            let Some(start) = self.sessions.get(&stat.session) else { return false };
            starts.get(&stat.session).map_or(!self.all_marked, |now| now == start)
        };
        let own = [Some(rustix::process::getpid()), rustix::process::getppid()];
        let others = snapshot.processes.iter().filter(|stat| !own.contains(&Pid::from_raw(stat.pid)));
        others.filter_map(|stat| self.kill_one(stat, in_session(stat))).collect()
    }

    fn kill_one(&self, stat: &Stat, in_session: bool) -> Option<Remnant> {
        let pid = Pid::from_raw(stat.pid)?;
        if !in_session && !self.is_marked(pid) {
            return None;
        }
        // Opened first and then looked at again, so that both are about one process.
        let pidfd = PidFd::open(pid).ok()?;
        let now = table::stat(pid).ok()?;
        let same = now.start_time == stat.start_time
            && if in_session { now.session == stat.session || self.is_marked(pid) } else { self.is_marked(pid) };
        if !same || !pidfd.is_alive() {
            return None;
        }
        let denied = pidfd.send(libc::SIGKILL).is_err_and(|error| error.raw_os_error() == Some(libc::EPERM));
        Some(Remnant { pid: stat.pid, session: now.session, start_time: stat.start_time, denied })
    }

    fn is_marked(&self, pid: Pid) -> bool {
        !self.marks.is_empty() && matches!(Mark::read(pid), Ok(Some(mark)) if self.marks.contains(&mark))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session;
    use crate::testing::Fixture;

    fn session_of(leader: &Fixture, start_time: u64, all_marked: bool) -> Lost {
        Lost { sessions: HashMap::from([(leader.pid.as_raw_pid(), start_time)]), marks: HashSet::new(), all_marked }
    }

    #[test]
    fn c35_a_lost_session_is_ended_whole() {
        let leader = Fixture::shell("trap '' TERM; set -m; sleep 60 & sleep 61 & wait");
        leader.wait_for("three members", || session::members(leader.pid).unwrap().len() == 3);
        let start_time = table::stat(leader.pid).unwrap().start_time;
        let lost = session_of(&leader, start_time, true);
        assert!(lost.kill().unwrap().iter().all(|remnant| !remnant.denied));
        leader.wait_for("nobody", || lost.kill().unwrap().is_empty());
    }

    #[test]
    fn c33_a_session_number_that_another_process_has_now_is_left_alone() {
        let other = Fixture::shell("sleep 60 & wait");
        other.wait_for("two members", || session::members(other.pid).unwrap().len() == 2);
        let start_time = table::stat(other.pid).unwrap().start_time;
        for all_marked in [false, true] {
            assert_eq!(session_of(&other, start_time - 1, all_marked).kill().unwrap(), []);
        }
        assert_eq!(session::members(other.pid).unwrap().len(), 2);
        other.kill();
    }

    #[test]
    fn c35_members_without_a_leader_are_ended_unless_they_would_have_to_carry_a_mark() {
        crate::orphans::become_subreaper().unwrap();
        let leader = Fixture::shell("sleep 60 & exit 0");
        leader.wait_until_ended();
        let start_time = table::stat(leader.pid).unwrap().start_time;
        crate::exit::reap(leader.pid).unwrap();
        assert_eq!(session_of(&leader, start_time, true).kill().unwrap(), []);
        assert_eq!(session::members(leader.pid).unwrap().len(), 1);
        let lost = session_of(&leader, start_time, false);
        leader.wait_for("nobody", || lost.kill().unwrap().is_empty());
        assert!(session::members(leader.pid).unwrap().is_empty());
    }
}
