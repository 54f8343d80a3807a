//! Prepared processes, whose ids the host knows ahead (C11).

use std::collections::HashSet;
use std::time::Duration;

use process::prepared::Prepared;
use process::{Pid, Settings, exit};
use protocol::Time;

use crate::memory;
use crate::poller::{Interest, Poller, Token};

/// As many as a burst may ask for.
const MOST: usize = 32;
/// After this long without a burst, as many as at rest are enough again.
const CALM: Duration = Duration::from_secs(10);
/// After one died or could not be made, this long none is made: something may be killing them.
const PAUSE: Duration = Duration::from_millis(200);
/// Forks in one go; each takes a moment in which nothing else happens.
const STEP: usize = 2;

struct Waiting {
    prepared: Prepared,
    /// Whether the host was told its id.
    known: bool,
}

/// The pool.
pub struct Pool {
    waiting: Vec<Waiting>,
    settings: Settings,
    rest: usize,
    target: usize,
    missed_at: Time,
    paused_until: Time,
}

impl Pool {
    /// An empty pool that wants `rest` processes.
    pub fn new(settings: Settings, rest: usize) -> Self {
        let rest = rest.min(MOST);
        Self { waiting: Vec::new(), settings, rest, target: rest, missed_at: Time(0), paused_until: Time(0) }
    }

    /// Changes how many are kept at rest. Those that wait already stay: their ids are known.
    pub fn set_rest(&mut self, rest: usize) {
        self.rest = rest.min(MOST);
        self.target = self.rest;
    }

    /// A process for a command: the one that the host chose, else one that the host knows nothing of, else a new one.
    pub fn take(&mut self, chosen: Option<u32>, now: Time, poller: &Poller) -> std::io::Result<Prepared> {
        let found = self.waiting.iter().position(|waiting| match chosen {
            Some(pid) => waiting.prepared.pid.as_raw_pid().cast_unsigned() == pid,
            None => !waiting.known,
        });
        if let Some(index) = found {
            let prepared = self.waiting.swap_remove(index).prepared;
            poller.remove(&prepared.pidfd);
            if prepared.is_waiting() {
                return Ok(prepared);
            }
            prepared.discard();
        }
        // A burst: more than the pool holds.
        self.target = (self.target * 2).clamp(self.rest, MOST);
        self.missed_at = now;
        fork(&self.settings)
    }

    /// Makes some of what is missing; says whether more is.
    pub fn refill(&mut self, now: Time, poller: &Poller) -> bool {
        if self.target > self.rest && now.since(self.missed_at) > CALM {
            self.target = self.rest;
        }
        for _ in 0..STEP {
            if self.waiting.len() >= self.target || now < self.paused_until {
                return false;
            }
            let Ok(prepared) = fork(&self.settings) else {
                self.paused_until = now + PAUSE;
                return false;
            };
            let token = Token::Prepared(prepared.pid.as_raw_pid().cast_unsigned());
            // Unwatched it is still checked when it is taken.
            let _ = poller.add(&prepared.pidfd, token, Interest::Readable);
            self.waiting.push(Waiting { prepared, known: false });
        }
        self.waiting.len() < self.target
    }

    /// When to call [`Pool::refill`] again after a pause.
    pub fn wakes(&self) -> Option<Time> {
        (self.waiting.len() < self.target).then_some(self.paused_until)
    }

    /// The ids that the host does not know yet; from now on it does.
    pub fn announce(&mut self) -> Vec<u32> {
        let fresh = self.waiting.iter_mut().filter(|waiting| !waiting.known);
        fresh
            .map(|waiting| {
                waiting.known = true;
                waiting.prepared.pid.as_raw_pid().cast_unsigned()
            })
            .collect()
    }

    /// All ids, for a host that knows none.
    pub fn announce_all(&mut self) -> Vec<u32> {
        self.waiting.iter_mut().for_each(|waiting| waiting.known = false);
        self.announce()
    }

    /// One has died while it waited.
    pub fn died(&mut self, pid: u32, now: Time, poller: &Poller) {
        let found = self.waiting.iter().position(|waiting| waiting.prepared.pid.as_raw_pid().cast_unsigned() == pid);
        let Some(index) = found.filter(|&index| !self.waiting[index].prepared.is_waiting()) else { return };
        let Waiting { prepared, .. } = self.waiting.swap_remove(index);
        poller.remove(&prepared.pidfd);
        let _ = exit::reap(prepared.pid);
        self.paused_until = now + PAUSE;
    }

    /// Ids of those that wait; their zombies are not orphans.
    pub fn pids(&self, pids: &mut HashSet<Pid>) {
        pids.extend(self.waiting.iter().map(|waiting| waiting.prepared.pid));
    }

    /// Ends all of them and makes no more.
    pub fn close(&mut self, poller: &Poller) {
        self.set_rest(0);
        for Waiting { prepared, .. } in self.waiting.drain(..) {
            poller.remove(&prepared.pidfd);
            prepared.discard();
        }
    }
}

fn fork(settings: &Settings) -> std::io::Result<Prepared> {
    // The child waits for long and needs none of it; shared, each page that we write to would be there twice.
    memory::hide_heap_from_children();
    Prepared::fork(settings)
}
