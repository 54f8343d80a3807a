//! `supervisor guard`: stands beside a harness that runs programs on its own machine, and ends what a violent death of the
//! harness leaves behind.
//!
//! Its standard input is a socket that only the harness holds: on it come the sessions that begin and end, and its end is the
//! harness' own. A record is eight bytes: the session's number, then 1 for a beginning or 0 for an end, both 32-bit in the
//! machine's byte order.

use std::collections::HashMap;
use std::io::{self, ErrorKind, Read};
use std::time::{Duration, Instant};

use process::Pid;
use process::pidfd::PidFd;
use process::terminate::{self, LeadersGroup};

use crate::sweep;

const RECORD: usize = 8;
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
        let [a, b, c, d, e, f, g, h] = record;
        // Filtered first: `from_raw` takes no negative numbers.
        let number = Some(i32::from_ne_bytes([a, b, c, d])).filter(|&number| number > 1);
        let Some(session) = number.and_then(Pid::from_raw) else {
            continue;
        };
        if u32::from_ne_bytes([e, f, g, h]) == 0 {
            sessions.remove(&session);
        } else {
            sessions.insert(session, PidFd::open(session).ok());
        }
    }
    sessions
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
    use super::*;

    fn record(session: i32, begins: u32) -> Vec<u8> {
        [session.to_ne_bytes(), begins.to_ne_bytes()].concat()
    }

    #[test]
    fn sessions_that_ended_and_numbers_that_are_nobodys_session_are_not_followed() {
        let own = std::process::id().cast_signed();
        let records =
            [record(own, 1), record(2, 1), record(2, 0), record(1, 1), record(0, 1), record(-1, 1), vec![1, 2]];
        let sessions = follow(&records.concat()[..]);
        assert_eq!(sessions.keys().map(|pid| pid.as_raw_pid()).collect::<Vec<_>>(), [own]);
    }
}
