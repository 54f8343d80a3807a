//! The ladder: TERM, the grace, KILL, until nobody of the session lives (C30, C32).

use std::time::Duration;

use process::Pid;
use process::terminate::{self, Denied, Outcome};
use protocol::control::{FromSupervisor, Survivor};
use protocol::{CommandId, Time};

use crate::command::Phase;
use crate::worker::Worker;

/// First wait before members that survived SIGKILL so far are looked at again.
const RETRY: Duration = Duration::from_millis(20);
/// Longest such wait.
const LONGEST_RETRY: Duration = Duration::from_secs(1);
/// Members that are still there this long after SIGKILL are reported (a process stuck in the kernel).
const STUCK: Duration = Duration::from_secs(10);

/// How far a termination is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ladder {
    /// Nobody asked for it.
    #[default]
    Idle,
    /// TERM is to be sent with the next pass.
    Due,
    /// TERM was sent, or will be when the start is confirmed.
    Asked {
        /// When KILL follows.
        kill_at: Time,
    },
    /// KILL was sent.
    Killing {
        /// When first.
        since: Time,
        /// When to look again.
        again_at: Time,
        /// The wait after that.
        retry: Duration,
    },
    /// Somebody cannot be ended; the host may ask again.
    Failed,
}

impl Ladder {
    /// Whether termination was asked for.
    pub fn is_begun(self) -> bool {
        self != Self::Idle
    }

    /// When something is to be done.
    pub fn wakes(self) -> Option<Time> {
        match self {
            Self::Due => Some(Time(0)),
            Self::Asked { kill_at } => Some(kill_at),
            Self::Killing { again_at, .. } => Some(again_at),
            Self::Idle | Self::Failed => None,
        }
    }
}

impl Worker {
    /// Begins to end a command's tree. Repeated, it changes nothing, unless the last attempt failed.
    pub fn terminate(&mut self, id: CommandId) {
        let now = self.now;
        let Some(command) = self.commands.get_mut(&id) else { return };
        match &command.phase {
            Phase::Gone => {}
            // Confirmed in a moment; then it is asked. One that never gets so far is killed all the same.
            Phase::Starting(launch) => {
                launch.wake();
                if matches!(command.ladder, Ladder::Idle | Ladder::Failed) {
                    command.ladder = Ladder::Asked { kill_at: now + command.grace };
                }
            }
            Phase::Running | Phase::Exited => {
                if matches!(command.ladder, Ladder::Idle | Ladder::Failed) {
                    command.ladder = Ladder::Due;
                }
            }
        }
    }

    /// Sends what is due to all sessions at once: one pass over the processes serves them all.
    pub fn climb_ladders(&mut self) {
        let now = self.now;
        let due = |wanted: fn(Ladder, Time) -> bool| -> Vec<(CommandId, Pid)> {
            let commands =
                self.commands.stirred().filter(|(_, command)| wanted(command.ladder, now) && !command.is_gone());
            commands.filter_map(|(id, command)| Some((id, command.pid()?))).collect()
        };
        let ask = due(|ladder, _| ladder == Ladder::Due);
        let kill = due(|ladder, now| ladder != Ladder::Due && ladder.wakes().is_some_and(|time| time <= now));
        if !ask.is_empty() {
            // An unreadable /proc leaves it to KILL.
            let outcomes = terminate::ask(&pids(&ask)).unwrap_or_default();
            for (id, pid) in ask {
                self.drop_watch_if_empty(id, outcomes.get(&pid));
                if let Some(command) = self.commands.get_mut(&id) {
                    command.ladder = Ladder::Asked { kill_at: now + command.grace };
                }
            }
            self.look = true;
        }
        if !kill.is_empty() {
            for (id, _) in &kill {
                if let Some(Phase::Starting(launch)) = self.commands.get(id).map(|command| &command.phase) {
                    launch.kill();
                }
            }
            let outcomes = terminate::kill(&pids(&kill)).unwrap_or_default();
            for (id, pid) in kill {
                self.drop_watch_if_empty(id, outcomes.get(&pid));
                self.after_kill(id, outcomes.get(&pid));
            }
            self.look = true;
        }
    }

    /// The watched member may have left the session, which is empty now.
    fn drop_watch_if_empty(&mut self, id: CommandId, outcome: Option<&Outcome>) {
        if outcome.is_some_and(|outcome| outcome.living == 0) {
            self.on_member(id);
        }
    }

    fn after_kill(&mut self, id: CommandId, outcome: Option<&Outcome>) {
        let now = self.now;
        let Some(command) = self.commands.get_mut(&id) else { return };
        let (since, retry) = match command.ladder {
            Ladder::Killing { since, retry, .. } => (since, (retry * 2).min(LONGEST_RETRY)),
            _ => (now, RETRY),
        };
        command.ladder = Ladder::Killing { since, again_at: now + retry, retry };
        let survivor = outcome.and_then(|outcome| {
            let only_denied = outcome.living > 0 && outcome.living == outcome.denied.len();
            outcome.denied.first().filter(|_| only_denied).map(|denied| survivor(id, denied, libc::EPERM))
        });
        let stuck = now.since(since) >= STUCK && outcome.is_none_or(|outcome| outcome.living > 0);
        let survivor = survivor.or_else(|| stuck.then(|| self.stuck(id)).flatten());
        if let Some(survivor) = survivor
            && let Some(command) = self.commands.get_mut(&id)
        {
            command.ladder = Ladder::Failed;
            self.link.send(id, &FromSupervisor::CleanupFailed(survivor));
        }
    }

    /// A member that SIGKILL does not end.
    fn stuck(&self, id: CommandId) -> Option<Survivor> {
        let leader = self.commands.get(&id)?.pid()?;
        let member = process::session::members(leader).ok()?.into_iter().next()?;
        let pid = member.stat.pid;
        let uid = Pid::from_raw(pid).and_then(|pid| process::table::user(pid).ok()).unwrap_or(u32::MAX);
        Some(survivor(id, &Denied { pid, uid, start_time: member.stat.start_time }, libc::ETIMEDOUT))
    }
}

fn pids(commands: &[(CommandId, Pid)]) -> Vec<Pid> {
    commands.iter().map(|(_, pid)| *pid).collect()
}

/// A survivor as the host is told of it.
pub fn survivor(command: CommandId, denied: &Denied, errno: i32) -> Survivor {
    Survivor { command, pid: denied.pid.cast_unsigned(), uid: denied.uid, start_time: denied.start_time, errno }
}
