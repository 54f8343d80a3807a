//! Prepared processes, whose ids the host knows ahead (C11).

use std::collections::HashSet;
use std::time::Duration;

use process::prepared::Prepared;
use process::{Pid, Settings, exit};
use protocol::Time;

use crate::forker::Forker;
use crate::poller::{Interest, Poller, Token};

/// As many as a burst may ask for.
const MOST: usize = 32;
/// After this long without a burst, as many as at rest are enough again.
const CALM: Duration = Duration::from_secs(10);
/// After one died or could not be made, this long none is made: something may be killing them.
const PAUSE: Duration = Duration::from_millis(200);

struct Waiting {
    prepared: Prepared,
    /// Whether the host was told its id.
    known: bool,
}

/// The pool.
pub struct Pool {
    waiting: Vec<Waiting>,
    forker: Forker,
    /// Children that were given up before they became a command: they leave by themselves.
    leaving: Vec<Pid>,
    is_closed: bool,
    rest: usize,
    target: usize,
    missed_at: Time,
    paused_until: Time,
}

impl Pool {
    /// An empty pool that wants `rest` processes.
    pub fn new(settings: Settings, rest: usize, poller: &Poller) -> std::io::Result<Self> {
        let rest = rest.min(MOST);
        let forker = Forker::start(settings)?;
        poller.add(&forker, Token::Forker, Interest::Readable)?;
        Ok(Self {
            waiting: Vec::new(),
            forker,
            leaving: Vec::new(),
            is_closed: false,
            rest,
            target: rest,
            missed_at: Time(0),
            paused_until: Time(0),
        })
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
        if self.forker.asked() == 0 {
            self.forker.ask()?;
        }
        self.forker.wait()
    }

    /// Asks for what is missing.
    pub fn refill(&mut self, now: Time) {
        if self.target > self.rest && now.since(self.missed_at) > CALM {
            self.target = self.rest;
        }
        while self.waiting.len() + self.forker.asked() < self.target && now >= self.paused_until {
            if self.forker.ask().is_err() {
                self.paused_until = now + PAUSE;
            }
        }
    }

    /// Takes in those that were made.
    pub fn welcome(&mut self, now: Time, poller: &Poller) {
        while let Some(made) = self.forker.take() {
            let Ok(prepared) = made else {
                self.paused_until = now + PAUSE;
                return;
            };
            if self.is_closed {
                prepared.discard();
                continue;
            }
            let token = Token::Prepared(prepared.pid.as_raw_pid().cast_unsigned());
            // Unwatched it is still checked when it is taken.
            let _ = poller.add(&prepared.pidfd, token, Interest::Readable);
            self.waiting.push(Waiting { prepared, known: false });
        }
    }

    /// This child was given up: it is no orphan, so it has to be reaped from here.
    pub fn give_up(&mut self, pid: Pid) {
        self.leaving.push(pid);
    }

    /// Reaps those that were given up and have left.
    pub fn reap_leaving(&mut self) {
        self.leaving.retain(|&pid| matches!(exit::reap(pid), Ok(None)));
    }

    /// When to call [`Pool::refill`] again after a pause.
    pub fn wakes(&self) -> Option<Time> {
        (self.waiting.len() + self.forker.asked() < self.target).then_some(self.paused_until)
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
        self.is_closed = true;
        for Waiting { prepared, .. } in self.waiting.drain(..) {
            poller.remove(&prepared.pidfd);
            prepared.discard();
        }
    }
}
