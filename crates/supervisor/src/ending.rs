//! The end of the service in this sandbox: everything that it ran goes first (C34, C60, C64).

use std::collections::HashSet;
use std::time::Duration;

use process::pidfd::PidFd;
use process::terminate::Denied;
use process::{Pid, orphans, table};
use protocol::Time;
use protocol::control::{FromSupervisor, Survivor};

use crate::terminate::{Ladder, survivor};
use crate::worker::Worker;

/// How long escapees that do not go are tried.
const ESCAPEES: Duration = Duration::from_secs(10);
/// How long the host has to acknowledge the last word.
const FAREWELL: Duration = Duration::from_secs(3);
/// How often escapees are looked at.
const RETRY: Duration = Duration::from_millis(20);

/// How far the end is.
pub struct Ending {
    stage: Stage,
    survivors: Vec<Survivor>,
}

enum Stage {
    /// Commands are being ended.
    Commands,
    /// What left its command's session is being killed.
    Escapees {
        /// Since when.
        since: Time,
        /// When to look again.
        again_at: Time,
    },
    /// The last word is on its way.
    Farewell {
        /// For how long it may be.
        until: Time,
    },
    /// Nothing is left to do.
    Over,
}

impl Ending {
    /// Whether the worker may leave.
    pub fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Over)
    }

    /// When to look again.
    pub fn wakes(&self) -> Option<Time> {
        match self.stage {
            Stage::Commands | Stage::Over => None,
            Stage::Escapees { again_at, .. } => Some(again_at),
            Stage::Farewell { until } => Some(until),
        }
    }
}

impl Worker {
    /// Begins the end. Asked again, it changes nothing.
    pub fn shut_down(&mut self) {
        if self.ending.is_some() {
            return;
        }
        self.ending = Some(Ending { stage: Stage::Commands, survivors: Vec::new() });
        self.door.shut(&self.poller);
        self.pool.close(&self.poller);
        let ids: Vec<u32> = self.commands.iter().map(|(id, _)| id).collect();
        for id in ids {
            self.terminate(id);
        }
        self.look = true;
    }

    /// Goes on with the end as far as it can.
    pub fn advance_ending(&mut self) {
        let Some(mut ending) = self.ending.take() else { return };
        let now = self.now;
        if matches!(ending.stage, Stage::Commands) && self.commands_are_done() && self.lost.is_none() {
            ending.survivors = self.failed_commands();
            ending.stage = Stage::Escapees { since: now, again_at: now };
        }
        if let Stage::Escapees { since, again_at } = ending.stage
            && again_at <= now
        {
            let (left, denied) = self.kill_escapees();
            if left == denied.len() || now.since(since) >= ESCAPEES {
                let known: HashSet<u32> = ending.survivors.iter().map(|survivor| survivor.pid).collect();
                ending.survivors.extend(denied.into_iter().filter(|survivor| !known.contains(&survivor.pid)));
                let survivors = ending.survivors.clone();
                self.link.send(0, &FromSupervisor::Ended { survivors });
                self.again = true;
                ending.stage = Stage::Farewell { until: now + FAREWELL };
            } else {
                ending.stage = Stage::Escapees { since, again_at: now + RETRY };
            }
        } else if let Stage::Farewell { until } = ending.stage {
            // Not yet numbered, not yet written, not yet acknowledged: each would be lost.
            let written = self.door.attached().is_none_or(|connection| connection.outbox.is_empty());
            let delivered = self.link.retained() == 0 && written && !self.again;
            if !self.door.is_attached() || delivered || until <= now {
                ending.stage = Stage::Over;
            }
        }
        self.ending = Some(ending);
    }

    fn commands_are_done(&self) -> bool {
        self.commands.iter().all(|(_, command)| command.is_gone() || command.ladder == Ladder::Failed)
    }

    /// Members of commands that could not be ended.
    fn failed_commands(&self) -> Vec<Survivor> {
        let failed = self.commands.iter().filter(|(_, command)| !command.is_gone());
        failed
            .filter_map(|(id, command)| {
                let member = process::session::members(command.pid()?).ok()?.into_iter().next()?;
                let pid = Pid::from_raw(member.stat.pid)?;
                Some(survivor(id, &denied(pid, member.stat.start_time), libc::EPERM))
            })
            .collect()
    }

    /// Kills what is left of our children; gives how many still live, and those that refuse.
    fn kill_escapees(&self) -> (usize, Vec<Survivor>) {
        let escapees = orphans::reap_orphans(|| self.children()).unwrap_or_default();
        let refused = escapees.iter().filter_map(|&pid| {
            let error = PidFd::open(pid).ok()?.send(libc::SIGKILL).err()?;
            let start_time = table::stat(pid).ok()?.start_time;
            Some(survivor(0, &denied(pid, start_time), error.raw_os_error().unwrap_or(libc::EPERM)))
        });
        let refused = refused.collect();
        (escapees.len(), refused)
    }
}

fn denied(pid: Pid, start_time: u64) -> Denied {
    let uid = table::user(pid).unwrap_or(u32::MAX);
    Denied { pid: pid.as_raw_pid(), uid, start_time }
}
