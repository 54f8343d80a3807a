//! Ids of processes that wait in the sandbox for a command.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

/// The ids that are known and not given out. Each is given out once.
#[derive(Debug, Default)]
pub struct Pool {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    pids: VecDeque<u32>,
    closed: bool,
}

impl Pool {
    /// New ids, from the supervisor.
    pub fn add(&self, pids: impl IntoIterator<Item = u32>) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).pids.extend(pids);
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
    }

    /// An id, if there is one.
    pub fn take(&self) -> Option<u32> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).pids.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c11_an_id_is_given_out_once() {
        let pool = Pool::default();
        pool.add([5, 6]);
        assert_eq!(pool.take(), Some(5));
        assert_eq!(pool.take(), Some(6));
        assert_eq!(pool.take(), None);
    }

    #[test]
    fn an_id_that_comes_back_to_a_closed_pool_is_not_given_out() {
        let pool = Pool::default();
        pool.add([5]);
        let pid = pool.take();
        pool.close();
        pool.put_back(pid.unwrap_or_default());
        assert_eq!(pool.take(), None);
    }
}
