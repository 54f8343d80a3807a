//! Signals to a whole session, bound to identity (C30, C33).
//!
//! The leader's own group is signalled as a group, atomically: its number is pinned by the unreaped leader. Members in other
//! groups are signalled one by one through descriptors that were confirmed to be theirs, because a group's number is pinned
//! by nothing once its last member has gone.

use std::collections::{HashMap, HashSet};
use std::io;

use rustix::process::Pid;

use crate::session::{Member, Search, Seen};
use crate::table;

/// How often new members are looked for after a signal.
const ROUNDS: usize = 16;

/// A member that we may not signal: it belongs to another user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Denied {
    /// Process id.
    pub pid: i32,
    /// Real user id; `u32::MAX` when it is not known.
    pub uid: u32,
    /// Start time in clock ticks since boot.
    pub start_time: u64,
}

/// What a signal to a session met.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Members that were alive in the last pass, reached or not.
    pub living: usize,
    /// Whether the last pass proved that nobody else lived, or found somebody.
    pub sure: bool,
    /// Members that refused, each once.
    pub denied: Vec<Denied>,
}

/// What became of the group that a session's leader leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeadersGroup {
    /// The leader is an unreaped child of ours: the group is signalled here, as a group.
    Kept,
    /// As before, but the caller has just signalled it.
    Signalled,
    /// The leader was reaped, so that its number pins nothing: its group's members are reached one by one.
    Reaped,
}

/// SIGTERM to every member of every group of these sessions, then SIGCONT so that stopped ones can act on it.
///
/// `leaders` must be unreaped children of ours. Looks for new members until a pass finds none; one pass serves all.
pub fn ask(leaders: &[Pid]) -> io::Result<HashMap<Pid, Outcome>> {
    ask_sessions(&kept(leaders))
}

/// As [`ask`], for sessions whose leaders need not be ours any more.
pub fn ask_sessions(sessions: &[(Pid, LeadersGroup)]) -> io::Result<HashMap<Pid, Outcome>> {
    signal_each_once(sessions, &[libc::SIGTERM, libc::SIGCONT])
}

/// SIGKILL to every member of these sessions until a pass finds no new one.
///
/// The members may still be on their way out when this returns; `living` counts those of the last pass.
pub fn kill(leaders: &[Pid]) -> io::Result<HashMap<Pid, Outcome>> {
    kill_sessions(&kept(leaders))
}

/// As [`kill`], for sessions whose leaders need not be ours any more.
pub fn kill_sessions(sessions: &[(Pid, LeadersGroup)]) -> io::Result<HashMap<Pid, Outcome>> {
    signal_each_once(sessions, &[libc::SIGKILL])
}

fn kept(leaders: &[Pid]) -> Vec<(Pid, LeadersGroup)> {
    leaders.iter().map(|&leader| (leader, LeadersGroup::Kept)).collect()
}

fn signal_each_once(sessions: &[(Pid, LeadersGroup)], signals: &[i32]) -> io::Result<HashMap<Pid, Outcome>> {
    for &(leader, _) in sessions.iter().filter(|(_, group)| *group == LeadersGroup::Kept) {
        for &signal in signals {
            signal_group(leader, signal);
        }
    }
    let mut seen: HashSet<(i32, u64)> = HashSet::new();
    let mut outcomes: HashMap<Pid, Outcome> =
        sessions.iter().map(|&(leader, _)| (leader, Outcome::default())).collect();
    let mut search = Search::default();
    for _ in 0..ROUNDS {
        let snapshot = table::snapshot()?;
        // A process that vanished may have left a child that this pass missed.
        let mut fresh = snapshot.incomplete;
        for &(leader, group) in sessions {
            let Some(outcome) = outcomes.get_mut(&leader) else { continue };
            let found = match group {
                LeadersGroup::Reaped => search.look_without_leader(&snapshot, leader),
                LeadersGroup::Kept | LeadersGroup::Signalled => search.look(&snapshot, leader),
            };
            outcome.sure = !matches!(found, Seen::Unsure);
            fresh |= !outcome.sure;
            let members = found.into_members();
            outcome.living = members.len();
            for member in &members {
                if seen.insert((member.stat.pid, member.stat.start_time)) {
                    fresh = true;
                    outcome.denied.extend(signal_member(member, (leader, group), signals));
                }
            }
        }
        if !fresh {
            break;
        }
    }
    Ok(outcomes)
}

/// Signals the group of `leader`, which must be an unreaped child of ours. Whether anybody was reached is not told: the members
/// themselves say it.
pub fn signal_group(leader: Pid, signal: i32) {
    // SAFETY: a group id ≥ 2, pinned by our unreaped child, so this can never become kill(-1).
    unsafe { libc::kill(-leader.as_raw_pid(), signal) };
}

fn signal_member(member: &Member, (leader, group): (Pid, LeadersGroup), signals: &[i32]) -> Option<Denied> {
    // Its group had the signal already; only SIGKILL is repeated, and who may not be signalled must be noticed.
    let in_leaders_group = member.stat.group == leader.as_raw_pid() && group != LeadersGroup::Reaped;
    let signals: &[i32] = if in_leaders_group && signals[0] != libc::SIGKILL { &[0] } else { signals };
    for &signal in signals {
        if member.pidfd.send(signal).is_err_and(|error| error.raw_os_error() == Some(libc::EPERM)) {
            let uid = Pid::from_raw(member.stat.pid).and_then(|pid| crate::table::user(pid).ok());
            let uid = uid.unwrap_or(u32::MAX);
            return Some(Denied { pid: member.stat.pid, uid, start_time: member.stat.start_time });
        }
    }
    None
}

/// Sends `signal` to process `pid` if it is the one that started at `start_time`. `ESRCH` when it is not.
pub fn send_exactly(pid: Pid, start_time: u64, signal: i32) -> io::Result<()> {
    let pidfd = crate::pidfd::PidFd::open(pid)?;
    // Looked at while it is held: the number is this process'.
    if crate::table::stat(pid)?.start_time != start_time {
        return Err(io::Error::from_raw_os_error(libc::ESRCH));
    }
    pidfd.send(signal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session;
    use crate::testing::Fixture;
    #[cfg(target_os = "linux")]
    use crate::testing::in_own_pid_namespace;

    fn gone(leader: &Fixture) -> bool {
        session::members(leader.pid).unwrap().is_empty()
    }

    #[test]
    fn c30_every_group_of_the_session_is_asked_and_stopped_ones_are_woken() {
        let leader = Fixture::shell("set -m; sleep 60 & sleep 61 & kill -STOP $!; timeout 60 sleep 62; true");
        leader.wait_for("five members", || session::members(leader.pid).unwrap().len() == 5);
        ask(&[leader.pid]).unwrap();
        leader.wait_for("an empty session", || gone(&leader));
    }

    #[test]
    fn c30_members_that_ignore_sigterm_are_killed_in_every_group() {
        let leader = Fixture::shell("set -m; trap '' TERM; sleep 60 & (sleep 61; sleep 62) & sleep 63");
        leader.wait_for("five members", || session::members(leader.pid).unwrap().len() == 5);
        ask(&[leader.pid]).unwrap();
        assert_eq!(session::members(leader.pid).unwrap().len(), 5);
        let outcomes = kill(&[leader.pid]).unwrap();
        assert_eq!(outcomes[&leader.pid].denied, []);
        leader.wait_for("an empty session", || gone(&leader));
    }

    #[test]
    fn c30_a_program_that_keeps_forking_is_killed() {
        let leader = Fixture::shell("trap '' TERM; f() { sleep 0.01; f & }; set -m; f; sleep 60");
        leader.wait_for("a member", || !gone(&leader));
        leader.wait_for("an empty session", || {
            kill(&[leader.pid]).unwrap();
            gone(&leader)
        });
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn c30_a_member_of_another_user_is_named() {
        if !in_own_pid_namespace("terminate::tests::c30_a_member_of_another_user_is_named") {
            return;
        }
        // The member is root's; the one that signals is not.
        let leader = Fixture::shell("sleep 60");
        leader.wait_for("two members or one", || !gone(&leader));
        let member = session::members(leader.pid).unwrap().remove(0);
        // SAFETY: changes the ids of this thread only (the raw call), back again below.
        unsafe { libc::syscall(libc::SYS_setresuid, 1001, 1001, 0) };
        let denied = signal_member(&member, (leader.pid, LeadersGroup::Kept), &[libc::SIGKILL]);
        // SAFETY: as above.
        unsafe { libc::syscall(libc::SYS_setresuid, 0, 0, 0) };
        let denied = denied.unwrap();
        assert_eq!((denied.pid, denied.uid), (member.stat.pid, 0));
        assert_eq!(denied.start_time, member.stat.start_time);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn c30_members_that_outlived_a_reaped_leader_are_asked_and_killed_one_by_one() {
        crate::orphans::become_subreaper().unwrap();
        let leader = Fixture::shell("trap '' TERM; sleep 60 & set -m; sleep 61 & exit 0");
        leader.wait_until_ended();
        crate::exit::reap(leader.pid).unwrap();
        let session = [(leader.pid, LeadersGroup::Reaped)];
        assert_eq!(session::members(leader.pid).unwrap().len(), 2);
        ask_sessions(&session).unwrap();
        kill_sessions(&session).unwrap();
        leader.wait_for("an empty session", || gone(&leader));
    }

    #[test]
    fn c33_a_session_whose_number_was_given_out_again_is_nobody_of_ours() {
        let other = Fixture::shell("sleep 60 & wait");
        other.wait_for("two members", || session::members(other.pid).unwrap().len() == 2);
        // As if the leader that we knew by this number had been reaped long ago.
        let outcomes = kill_sessions(&[(other.pid, LeadersGroup::Reaped)]).unwrap();
        assert_eq!(outcomes[&other.pid].living, 0);
        assert_eq!(session::members(other.pid).unwrap().len(), 2);
    }

    #[test]
    fn c33_a_kill_by_pid_and_start_time_reaches_only_that_process() {
        let child = Fixture::shell("sleep 60");
        let start_time = crate::table::stat(child.pid).unwrap().start_time;
        let error = send_exactly(child.pid, start_time + 1, libc::SIGKILL).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ESRCH));
        assert!(!gone(&child));
        send_exactly(child.pid, start_time, libc::SIGKILL).unwrap();
        child.wait_until_ended();
    }
}
