//! `supervisor guard`: stands beside a harness that runs programs on its own machine, and ends what a violent death of the
//! harness leaves behind.
//!
//! Its standard input is a socket that only the harness holds: on it come the sessions that begin and end, and its end is the
//! harness' own. A record is 16 bytes in the machine's byte order: the session's number and 1 for a beginning or 0 for an end, of 32
//! bits each, then 64 bits of the moment of the beginning, as processes' starts are measured.

use std::collections::HashMap;
use std::io::{self, ErrorKind, Read};
use std::time::{Duration, Instant};

use process::pidfd::PidFd;
use process::terminate::{self, LeadersGroup};
use process::{Pid, table};

use crate::sweep;

const RECORD: usize = 16;
/// How long members that do not die of SIGKILL at once are tried again, and how often.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(20);

/// Reads records until the harness is gone, then ends the sessions that it left.
pub fn run() -> io::Result<()> {
    // 1. Nobody's signal but SIGKILL ends it, and it holds nothing that others wait for.
    sweep::block_signals();
    std::env::set_current_dir("/")?;
    let _ = process::limits::raise_open_files();
    // 2. Know who runs.
    let sessions = follow(io::stdin().lock());
    // 3. The harness is gone.
    end(&sessions)
}

/// The sessions that were begun and not ended, each with its leader's identity where that was still there to be held.
fn follow(mut records: impl Read) -> HashMap<Pid, Option<PidFd>> {
    let mut sessions = HashMap::new();
    let mut record = [0; RECORD];
    while records.read_exact(&mut record).is_ok() {
        let [a, b, c, d, e, f, g, h, moment @ ..] = record;
        // Filtered first: `from_raw` takes no negative numbers.
        let number = Some(i32::from_ne_bytes([a, b, c, d])).filter(|&number| number > 1);
        let Some(session) = number.and_then(Pid::from_raw) else {
            continue;
        };
        if u32::from_ne_bytes([e, f, g, h]) == 0 {
            sessions.remove(&session);
        } else {
            sessions.insert(session, leader(session, u64::from_ne_bytes(moment)));
        }
    }
    sessions
}

/// The leader of a session that began at `moment`, if it is still there. What is read late may be about one whose number is another's by
/// now, who started later.
fn leader(session: Pid, moment: u64) -> Option<PidFd> {
    // Held first and looked at then, so that both are about one process.
    let leader = PidFd::open(session).ok()?;
    (table::stat(session).ok()?.start_time <= moment).then_some(leader)
}

fn end(sessions: &HashMap<Pid, Option<PidFd>>) -> io::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        // Members are found by the session's number and reached by identity. A leader that was reaped pins that number no
        // longer: a process that has it now is not ours. One that has ended but was not (by an init that does not care) still does.
        let pins = |leader: &Option<PidFd>| leader.as_ref().is_some_and(|leader| !leader.is_reaped());
        let group = |leader| if pins(leader) { LeadersGroup::Signalled } else { LeadersGroup::Reaped };
        let targets: Vec<_> = sessions.iter().map(|(&session, leader)| (session, group(leader))).collect();
        if targets.is_empty() {
            return Ok(());
        }
        let outcomes = terminate::kill_sessions(&targets)?;
        if outcomes.values().all(|outcome| outcome.living == 0 && outcome.sure) {
            return Ok(());
        }
        if Instant::now() >= deadline {
            return Err(io::Error::from(ErrorKind::TimedOut));
        }
        std::thread::sleep(PAUSE);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;

    fn record(session: i32, begins: u32, moment: u64) -> Vec<u8> {
        [&session.to_ne_bytes()[..], &begins.to_ne_bytes(), &moment.to_ne_bytes()].concat()
    }

    #[test]
    fn sessions_that_ended_and_numbers_that_are_nobodys_session_are_not_followed() {
        let own = std::process::id().cast_signed();
        let numbers = [(own, 1), (2, 1), (2, 0), (1, 1), (0, 1), (-1, 1)];
        let mut records = numbers.map(|(session, begins)| record(session, begins, table::now())).concat();
        records.extend([1, 2]);
        let sessions = follow(&records[..]);
        assert_eq!(sessions.keys().map(|pid| pid.as_raw_pid()).collect::<Vec<_>>(), [own]);
        assert!(sessions.values().all(Option::is_some));
    }

    #[test]
    fn c33_who_has_the_number_of_a_session_that_was_heard_of_too_late_is_left_alone() {
        let mut other = std::process::Command::new("setsid").args(["sleep", "60"]).spawn().unwrap();
        let pid = Pid::from_child(&other);
        while table::stat(pid).unwrap().session != pid.as_raw_pid() {
            std::thread::yield_now();
        }
        let start_time = table::stat(pid).unwrap().start_time;
        end(&follow(&record(pid.as_raw_pid(), 1, start_time - 1)[..])).unwrap();
        assert!(PidFd::open(pid).unwrap().is_alive());
        end(&follow(&record(pid.as_raw_pid(), 1, start_time)[..])).unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&other.wait().unwrap()), Some(libc::SIGKILL));
    }
}
