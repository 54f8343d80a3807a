//! The session of a command: who is in it and whether anybody in it still lives (C31).
//!
//! The number of a session stays unique as long as its leader, a child of ours, is not reaped: so keep the leader until
//! the session is empty.

use std::collections::HashSet;
use std::io;

use rustix::process::Pid;

use crate::number;
use crate::pidfd::PidFd;
use crate::table::{self, Snapshot, Stat};

/// How many passes over all processes are made for one answer.
const PASSES: usize = 4;

/// A living member of a session.
#[derive(Debug)]
pub struct Member {
    /// Its facts at the time of the pass.
    pub stat: Stat,
    /// Its identity, opened before the facts were confirmed.
    pub pidfd: PidFd,
}

/// Whether group `group` certainly has no living direct child of ours: cheap, and the common case after a short command.
///
/// Zombies do not count, a kept leader included. A living member whose parent lives is not seen here; see
/// [`crate::orphans`] for why no unknown child means an empty session.
#[cfg(target_os = "linux")]
pub fn has_no_living_child(group: Pid) -> bool {
    use rustix::io::Errno;
    use rustix::process::{WaitId, WaitIdOptions};

    let options = WaitIdOptions::CONTINUED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    matches!(rustix::process::waitid(WaitId::Pgid(Some(group)), options), Err(Errno::CHILD))
}

/// What passes over all processes say of a session.
#[derive(Debug)]
pub enum Seen {
    /// These were alive.
    Living(Vec<Member>),
    /// Nobody lives in it, and nobody can be born into it.
    Nobody,
    /// Nobody was found, but somebody may have been missed.
    Unsure,
}

impl Seen {
    /// Who was alive.
    pub fn into_members(self) -> Vec<Member> {
        match self {
            Self::Living(members) => members,
            Self::Nobody | Self::Unsure => Vec::new(),
        }
    }
}

/// Looks for members of sessions, pass after pass.
///
/// A pass misses who is born while it is made. But somebody of the same session forked then, and stands in the pass, or vanished from it:
/// alive, or as one that ended meanwhile. So a pass proves that nobody lives only when nobody vanished and all that it has of the
/// session had ended before it began, which an earlier pass has seen.
#[derive(Debug, Default)]
pub struct Search {
    /// Who had ended, by number and start time, before the next pass begins.
    ended: HashSet<(i32, u64)>,
    leaders_ended: bool,
}

impl Search {
    /// For sessions whose leaders are known to have ended.
    pub fn behind_leaders() -> Self {
        Self { leaders_ended: true, ..Self::default() }
    }

    /// Looks for members of `session` in a pass, which must have begun after the one before.
    pub fn look(&mut self, snapshot: &Snapshot, session: Pid) -> Seen {
        let (mut living, mut sure) = (Vec::new(), !snapshot.incomplete);
        for stat in snapshot.processes.iter().filter(|stat| stat.session == session.as_raw_pid()) {
            match confirm(stat, session) {
                Ok(Some(member)) => living.push(member),
                Ok(None) if self.leaders_ended && stat.pid == stat.session => {}
                Ok(None) => sure &= !self.ended.insert((stat.pid, stat.start_time)),
                Err(_) => sure = false,
            }
        }
        match (living.is_empty(), sure) {
            (false, _) => Seen::Living(living),
            (true, true) => Seen::Nobody,
            (true, false) => Seen::Unsure,
        }
    }

    /// As [`Self::look`] for a session whose leader was reaped: when there is a process of its number again, that number was given out anew
    /// and nobody in it is ours. As long as the number is taken, the pass must show by whom.
    pub fn look_without_leader(&mut self, snapshot: &Snapshot, session: Pid) -> Seen {
        if snapshot.processes.iter().any(|stat| stat.pid == session.as_raw_pid()) {
            return Seen::Nobody;
        }
        let seen = self.look(snapshot, session);
        let shown = || snapshot.processes.iter().any(|stat| stat.session == session.as_raw_pid());
        if matches!(seen, Seen::Nobody) && !shown() && number::is_surely_taken(session) { Seen::Unsure } else { seen }
    }
}

/// Whether anybody lives in session `session`, from as many passes over all processes as it takes to be sure, but not for ever.
pub fn seen(session: Pid) -> io::Result<Seen> {
    let mut search = Search::default();
    let mut seen = Seen::Unsure;
    for _ in 0..PASSES {
        seen = search.look(&table::snapshot()?, session);
        if !matches!(seen, Seen::Unsure) {
            break;
        }
    }
    Ok(seen)
}

/// Living members of session `session`, as far as a few passes find any.
pub fn members(session: Pid) -> io::Result<Vec<Member>> {
    seen(session).map(Seen::into_members)
}

/// Opens the process first and reads its facts again then, so that both are of one process. An error when there is no room for that.
fn confirm(stat: &Stat, session: Pid) -> io::Result<Option<Member>> {
    let Some(pid) = Pid::from_raw(stat.pid) else { return Ok(None) };
    let held = PidFd::open(pid).and_then(|pidfd| Ok((pidfd, table::stat(pid)?)));
    let (pidfd, now) = match held {
        Err(error) if table::is_want(&error) => return Err(error),
        Err(_) => return Ok(None),
        Ok(held) => held,
    };
    let same = now.start_time == stat.start_time && now.session == session.as_raw_pid();
    Ok((same && pidfd.is_alive()).then_some(Member { stat: now, pidfd }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fixture;

    fn count(leader: &Fixture) -> usize {
        members(leader.pid).unwrap().len()
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn c31_members_are_all_groups_of_the_session_but_no_zombies_and_no_escapees() {
        let leader = Fixture::shell("set -m; sleep 60 & sleep 60 & setsid sleep 60 & sleep 60");
        leader.wait_for("shell and three sleepers", || count(&leader) == 4);
        let groups: std::collections::HashSet<i32> =
            members(leader.pid).unwrap().iter().map(|member| member.stat.group).collect();
        assert!(groups.len() >= 3, "{groups:?}");
        leader.kill();
    }

    #[test]
    fn c31_a_session_of_zombies_only_is_empty() {
        // A sleeper waits for no child, so that one stays a zombie; both die in the order child, parent. Both have to be
        // sleepers by then: the shell that they came from does wait for its children.
        let leader = Fixture::shell("sleep 60 & exec sleep 60");
        let sleepers = || members(leader.pid).unwrap().into_iter().filter(|member| member.stat.name == b"sleep");
        leader.wait_for("two sleepers", || sleepers().count() == 2);
        let child = sleepers().find(|member| member.stat.pid != leader.pid.as_raw_pid()).unwrap();
        child.pidfd.send(libc::SIGKILL).unwrap();
        leader.wait_for("the parent alone", || count(&leader) == 1);
        assert_eq!(table::stat(Pid::from_raw(child.stat.pid).unwrap()).unwrap().state, b'Z');
        rustix::process::kill_process(leader.pid, rustix::process::Signal::KILL).unwrap();
        leader.wait_until_ended();
        assert_eq!(count(&leader), 0);
        #[cfg(target_os = "linux")]
        assert!(has_no_living_child(leader.pid));
    }

    #[test]
    fn c31_who_ended_while_a_pass_was_made_may_have_left_a_child_that_it_missed() {
        let leader = Fixture::shell("sleep 60 & wait");
        leader.wait_for("two members", || count(&leader) == 2);
        // A pass that began before the child was born, and came to its parent when that had ended.
        let mut pass = table::snapshot().unwrap();
        let child =
            members(leader.pid).unwrap().into_iter().find(|member| member.stat.pid != leader.pid.as_raw_pid()).unwrap();
        pass.processes.retain(|stat| stat.pid != child.stat.pid);
        pass.incomplete = false;
        rustix::process::kill_process(leader.pid, rustix::process::Signal::KILL).unwrap();
        leader.wait_until_ended();
        let mut search = Search::default();
        assert!(matches!(search.look(&pass, leader.pid), Seen::Unsure));
        // The next one began after that: without the child in it, there would be none.
        assert!(matches!(search.look(&pass, leader.pid), Seen::Nobody));
        pass.incomplete = true;
        assert!(matches!(search.look(&pass, leader.pid), Seen::Unsure));
        assert!(matches!(Search::behind_leaders().look(&table::snapshot().unwrap(), leader.pid), Seen::Living(_)));
        child.pidfd.send(libc::SIGKILL).unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn c31_a_number_that_is_taken_by_nobody_in_the_pass_is_taken_by_somebody_who_does_not_show() {
        let member = Fixture::shell("sleep 60");
        let empty = Snapshot::default();
        assert!(matches!(Search::default().look_without_leader(&empty, member.pid), Seen::Unsure));
        let free = Pid::from_raw(0x3fff_fffe).unwrap();
        assert!(matches!(Search::default().look_without_leader(&empty, free), Seen::Nobody));
        member.kill();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_cheap_test_sees_a_living_leader() {
        let leader = Fixture::shell("sleep 60");
        assert!(!has_no_living_child(leader.pid));
        leader.kill();
    }
}
