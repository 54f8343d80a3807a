//! Ids of processes that wait in the sandbox for a command.

use std::{
    collections::VecDeque,
    sync::{Condvar, Mutex, PoisonError},
    time::Duration,
};

/// The ids that are known and not given out. Each is given out once.
#[derive(Debug, Default)]
pub struct Pool {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    pids: VecDeque<u32>,
    closed: bool,
}

impl Pool {
    /// New ids, from the supervisor.
    pub fn add(&self, pids: impl IntoIterator<Item = u32>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.pids.extend(pids);
        self.changed.notify_all();
    }

    /// An id that was taken and shown to nobody.
    pub fn put_back(&self, pid: u32) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.closed {
            state.pids.push_front(pid);
        }
    }

    /// The supervisor that had them is gone.
    pub fn clear(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).pids.clear();
    }

    /// No ids will come any more.
    pub fn close(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.closed = true;
        state.pids.clear();
        self.changed.notify_all();
    }

    /// An id, if one comes within `patience`.
    pub fn take(&self, patience: Duration) -> Option<u32> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = |state: &mut State| state.pids.is_empty() && !state.closed;
        let (mut state, _) = self.changed.wait_timeout_while(state, patience, waiting).unwrap_or_else(PoisonError::into_inner);
        state.pids.pop_front()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed test may panic")]
    use std::{sync::Arc, thread, time::Instant};

    use super::*;

    #[test]
    fn c11_an_id_is_given_out_once() {
        let pool = Pool::default();
        pool.add([5, 6]);
        assert_eq!(pool.take(Duration::ZERO), Some(5));
        assert_eq!(pool.take(Duration::ZERO), Some(6));
        assert_eq!(pool.take(Duration::ZERO), None);
    }

    #[test]
    fn c12_the_caller_is_held_until_an_id_comes() {
        let pool = Arc::new(Pool::default());
        let waiter = { let pool = Arc::clone(&pool); thread::spawn(move || pool.take(Duration::from_secs(30))) };
        pool.add([9]);
        assert_eq!(waiter.join().unwrap(), Some(9));
    }

    #[test]
    fn c12_a_closed_pool_holds_nobody() {
        let pool = Pool::default();
        pool.close();
        let start = Instant::now();
        assert_eq!(pool.take(Duration::from_secs(30)), None);
        assert!(start.elapsed() < Duration::from_secs(10));
    }
}
