//! The leader of a command's session, bound to its identity (C33).

use std::{
    io,
    sync::{Mutex, MutexGuard, PoisonError},
};

use process::{
    Pid,
    exit::{self, Exit},
    terminate::{self, LeadersGroup},
};

/// A started program: leader of its session and group. As long as it is not reaped here, its number pins both.
#[derive(Debug)]
pub struct Leader {
    pid: Pid,
    state: Mutex<State>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Kept,
    Reaped,
    /// Its session is empty: nothing is ever signalled again.
    Gone,
}

impl Leader {
    /// A child of ours that nobody else reaps.
    pub fn new(pid: Pid) -> Self {
        Self { pid, state: Mutex::new(State::Kept) }
    }

    /// Its number, its group's and its session's.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Signals its group while it pins it. Says how the session's members are to be reached beyond that; `None` is not at all.
    pub fn signal_group(&self, signals: &[i32]) -> Option<LeadersGroup> {
        // Held while signalling: nobody reaps it in between.
        let state = self.lock();
        match *state {
            State::Kept => {
                for &signal in signals {
                    terminate::signal_group(self.pid, signal);
                }
                Some(LeadersGroup::Signalled)
            }
            State::Reaped => Some(LeadersGroup::Reaped),
            State::Gone => None,
        }
    }

    /// Does something that needs its number to be its own; `None` once it was reaped.
    pub fn while_kept<T>(&self, act: impl FnOnce(Pid) -> T) -> Option<T> {
        let state = self.lock();
        (*state == State::Kept).then(|| act(self.pid))
    }

    /// Takes its end, if it has ended.
    ///
    /// # Errors
    /// `ECHILD` when somebody else took it.
    pub fn reap(&self) -> io::Result<Option<Exit>> {
        let mut state = self.lock();
        let exit = exit::reap(self.pid);
        if !matches!(exit, Ok(None)) {
            *state = State::Reaped;
        }
        exit
    }

    /// Nobody of its session lives any more.
    pub fn set_gone(&self) {
        *self.lock() = State::Gone;
    }
}
