//! The session of a command: who is in it and whether anybody in it still lives (C31).
//!
//! The number of a session stays unique as long as its leader, a child of ours, is not reaped: so keep the leader until
//! the session is empty.

use std::io;

use rustix::process::Pid;

use crate::pidfd::PidFd;
use crate::table::{self, Snapshot, Stat};

/// How often a pass over `/proc` is repeated when processes vanished under it.
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

/// Living members of session `session` according to `snapshot`; those that ended or left meanwhile are dropped.
pub fn members_in(snapshot: &Snapshot, session: Pid) -> Vec<Member> {
    let listed = snapshot.processes.iter().filter(|stat| stat.session == session.as_raw_pid());
    listed.filter_map(|stat| confirm(stat, session)).collect()
}

/// As [`members_in`] for a session whose leader was reaped: when there is a process of its number again, that number was given
/// out anew and nobody in it is ours.
pub fn members_without_leader_in(snapshot: &Snapshot, session: Pid) -> Vec<Member> {
    let reused = |snapshot: &Snapshot| snapshot.processes.iter().any(|stat| stat.pid == session.as_raw_pid());
    if reused(snapshot) { Vec::new() } else { members_in(snapshot, session) }
}

/// Living members of session `session`, from as many passes over `/proc` as it takes for a quiet one.
pub fn members(session: Pid) -> io::Result<Vec<Member>> {
    let mut found = Vec::new();
    for _ in 0..PASSES {
        let snapshot = table::snapshot()?;
        found = members_in(&snapshot, session);
        // Found somebody: that is news enough. Nobody: believed only when nothing vanished during the pass.
        if !found.is_empty() || !snapshot.incomplete {
            break;
        }
    }
    Ok(found)
}

/// Opens the process first and reads its facts again then, so that both are of one process.
fn confirm(stat: &Stat, session: Pid) -> Option<Member> {
    let pid = Pid::from_raw(stat.pid)?;
    let pidfd = PidFd::open(pid).ok()?;
    let now = table::stat(pid).ok()?;
    let same = now.start_time == stat.start_time && now.session == session.as_raw_pid();
    (same && pidfd.is_alive()).then_some(Member { stat: now, pidfd })
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

    #[cfg(target_os = "linux")]
    #[test]
    fn the_cheap_test_sees_a_living_leader() {
        let leader = Fixture::shell("sleep 60");
        assert!(!has_no_living_child(leader.pid));
        leader.kill();
    }
}
