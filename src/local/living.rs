//! The sessions that one JavaScript environment has not seen the end of.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use process::{Pid, terminate};

use super::leader::Leader;

/// Them, by number.
#[derive(Debug, Default)]
pub struct Living {
    leaders: Mutex<HashMap<Pid, Arc<Leader>>>,
}

impl Living {
    fn lock(&self) -> MutexGuard<'_, HashMap<Pid, Arc<Leader>>> {
        self.leaders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more.
    pub fn add(&self, leader: &Arc<Leader>) {
        self.lock().insert(leader.pid(), Arc::clone(leader));
    }

    /// One less.
    pub fn remove(&self, leader: &Arc<Leader>) {
        let mut leaders = self.lock();
        // Its number may be another's by now.
        if leaders.get(&leader.pid()).is_some_and(|known| Arc::ptr_eq(known, leader)) {
            leaders.remove(&leader.pid());
        }
    }

    /// SIGKILL to every member of every session, now and on this thread (C73). Nothing is waited for.
    pub fn kill_all(&self) {
        let leaders: Vec<Arc<Leader>> = self.lock().values().cloned().collect();
        if leaders.is_empty() {
            return;
        }
        let killed = |leader: &Arc<Leader>| Some((leader.pid(), leader.signal_group(&[libc::SIGKILL])?));
        let sessions: Vec<_> = leaders.iter().filter_map(killed).collect();
        // There is nobody to tell what failed.
        let _ = terminate::kill_sessions(&sessions);
    }
}
