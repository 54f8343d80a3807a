//! What former supervisors left behind that were killed together with their guardians (C35): the host says which lives and commands
//! it has lost, and hears when nothing of them lives any more.

use std::collections::HashMap;
use std::time::Duration;

use process::lost::{Lost, Remnant};
use process::mark::Mark;
use process::terminate::Denied;
use process::{Pid, table};
use protocol::Time;
use protocol::control::{FromSupervisor, LostSession, Survivor};

use crate::terminate::survivor;
use crate::worker::Worker;

/// First wait before those that were killed are looked for again.
const RETRY: Duration = Duration::from_millis(4);
/// Longest such wait.
const LONGEST_RETRY: Duration = Duration::from_millis(500);
/// Those that are still there so long after SIGKILL are reported (a process stuck in the kernel).
const STUCK: Duration = Duration::from_secs(10);

/// The ending of what was lost.
pub struct Pursuit {
    lost: Lost,
    /// Commands by the number of their session.
    commands: HashMap<i32, u32>,
    since: Time,
    again_at: Time,
    retry: Duration,
}

impl Pursuit {
    /// When to look again.
    pub fn wakes(&self) -> Time {
        self.again_at
    }

    fn add(&mut self, epochs: &[u64], sessions: &[LostSession]) {
        self.lost.marks.extend(epochs.iter().copied().map(Mark::of));
        for session in sessions {
            // 1 is never a command's, and what is not positive no session.
            let Some(leader) = i32::try_from(session.pid).ok().filter(|&pid| pid > 1) else { continue };
            self.lost.sessions.insert(leader, session.start_time);
            self.commands.insert(leader, session.command);
        }
    }

    fn survivors(&self, remnants: &[Remnant]) -> Vec<Survivor> {
        let one = |remnant: &Remnant| {
            let uid = Pid::from_raw(remnant.pid).and_then(|pid| table::user(pid).ok()).unwrap_or(u32::MAX);
            let denied = Denied { pid: remnant.pid, uid, start_time: remnant.start_time };
            let command = self.commands.get(&remnant.session).copied().unwrap_or(0);
            survivor(command, &denied, if remnant.denied { libc::EPERM } else { libc::ETIMEDOUT })
        };
        remnants.iter().map(one).collect()
    }
}

impl Worker {
    /// Begins to end what other lives left, or adds to what is being ended.
    pub fn end_lost(&mut self, epochs: &[u64], sessions: &[LostSession]) {
        let (now, all_marked, own) = (self.now, self.marked, self.link.epoch());
        let pursuit = self.lost.get_or_insert_with(|| Pursuit {
            lost: Lost { all_marked, ..Lost::default() },
            commands: HashMap::new(),
            since: now,
            again_at: now,
            retry: RETRY,
        });
        let others: Vec<u64> = epochs.iter().copied().filter(|&epoch| epoch != own).collect();
        pursuit.add(&others, sessions);
        pursuit.again_at = now;
    }

    /// Goes on with that when it is due, and tells the host once nothing more can be ended.
    pub fn pursue_lost(&mut self) {
        let now = self.now;
        let Some(pursuit) = self.lost.as_mut().filter(|pursuit| pursuit.again_at <= now) else { return };
        pursuit.again_at = now + pursuit.retry;
        pursuit.retry = (pursuit.retry * 2).min(LONGEST_RETRY);
        // An unreadable /proc proves nothing.
        let Ok(remnants) = pursuit.lost.kill() else { return };
        if remnants.iter().all(|remnant| remnant.denied) || now.since(pursuit.since) >= STUCK {
            let survivors = pursuit.survivors(&remnants);
            self.lost = None;
            self.link.send(0, &FromSupervisor::LostEnded { survivors });
            self.again = true;
        }
    }
}
