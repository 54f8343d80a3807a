//! The sessions that one JavaScript environment has not seen the end of.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use process::{Pid, terminate};

use super::{leader::Leader, terminal::Far};

/// Whom signals go to.
#[derive(Debug)]
pub struct Session {
    /// Its leader.
    pub leader: Leader,
    /// Its terminal, if it has one.
    pub terminal: Option<Arc<Far>>,
}

impl Session {
    /// Looks who left it, for a terminal's. Blocks for a pass over `/proc`.
    pub fn look(&self) {
        if let Some(terminal) = &self.terminal {
            // Without a pass the known ones are still reached.
            let _ = terminal.look(&self.leader);
        }
    }
}

/// Them, by number.
#[derive(Debug, Default)]
pub struct Living {
    sessions: Mutex<HashMap<Pid, Arc<Session>>>,
}

impl Living {
    fn lock(&self) -> MutexGuard<'_, HashMap<Pid, Arc<Session>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more.
    pub fn add(&self, session: &Arc<Session>) {
        self.lock().insert(session.leader.pid(), Arc::clone(session));
    }

    /// One less.
    pub fn remove(&self, session: &Arc<Session>) {
        let mut sessions = self.lock();
        // Its number may be another's by now.
        if sessions.get(&session.leader.pid()).is_some_and(|known| Arc::ptr_eq(known, session)) {
            sessions.remove(&session.leader.pid());
        }
    }

    /// SIGKILL to every member of every session, now and on this thread (C73). Nothing is waited for.
    pub fn kill_all(&self) {
        let sessions: Vec<Arc<Session>> = self.lock().values().cloned().collect();
        // Before their parents end, or they are not found any more.
        sessions.iter().for_each(|session| session.look());
        let killed = |session: &Arc<Session>| {
            let pid = session.leader.pid();
            Some((pid, session.leader.signal_group(&[libc::SIGKILL])?))
        };
        let targets: Vec<_> = sessions.iter().filter_map(killed).collect();
        if !targets.is_empty() {
            // There is nobody to tell what failed.
            let _ = terminate::kill_sessions(&targets);
        }
        for terminal in sessions.iter().filter_map(|session| session.terminal.as_ref()) {
            terminal.kin.signal(&[libc::SIGKILL]);
        }
    }
}
