//! Telling the JavaScript thread that facts changed: which handle, and what about it.
//!
//! However much happens, at most one call is under way, and the set is as large as the number of
//! live handles at most. The call itself belongs to the binding; here it is a plain function.

use std::{
    collections::HashMap,
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicI64, AtomicU32, Ordering},
    },
};

/// What changed, as a bit mask that the shim knows too (`lib/native.js`).
pub mod changed {
    /// The process id.
    pub const PID: u32 = 1;
    /// Standard output has bytes, or its end.
    pub const STDOUT: u32 = 2;
    /// Standard error has bytes, or its end.
    pub const STDERR: u32 = 4;
    /// Standard input takes bytes again, or none any more.
    pub const STDIN: u32 = 8;
    /// The outcome is there.
    pub const OUTCOME: u32 = 16;
    /// The tree is gone, or could not be ended.
    pub const TREE: u32 = 32;
    /// A request has its answer.
    pub const ANSWER: u32 = 64;
}

/// The changes of one JavaScript environment.
#[derive(Default)]
pub struct Wakes {
    pending: Mutex<Pending>,
    call: OnceLock<Box<dyn Fn() + Send + Sync>>,
    last_id: AtomicU32,
    live: AtomicI64,
}

#[derive(Default)]
struct Pending {
    scheduled: bool,
    changes: HashMap<u32, u32>,
}

impl std::fmt::Debug for Wakes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wakes").field("live", &self.live).finish_non_exhaustive()
    }
}

impl Wakes {
    /// Sets the function that brings the JavaScript thread to [`Wakes::drain`]. Only the first one counts.
    pub fn on_change(&self, call: impl Fn() + Send + Sync + 'static) {
        let _ = self.call.set(Box::new(call));
    }

    /// A new handle id, unique in this environment. Never 0.
    pub fn next_id(&self) -> u32 {
        self.last_id.fetch_add(1, Ordering::Relaxed).wrapping_add(1).max(1)
    }

    /// Says that something about a handle changed.
    pub fn mark(&self, handle: u32, mask: u32) {
        let first = {
            let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
            *pending.changes.entry(handle).or_default() |= mask;
            !std::mem::replace(&mut pending.scheduled, true)
        };
        if first && let Some(call) = self.call.get() {
            call();
        }
    }

    /// Brings the JavaScript thread once more, without news.
    fn call_again(&self) {
        let Some(call) = self.call.get() else { return };
        let first = {
            let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
            !std::mem::replace(&mut pending.scheduled, true)
        };
        if first {
            call();
        }
    }

    /// All changes since the last time: handle, mask, handle, mask, …
    pub fn drain(&self) -> Vec<u32> {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        pending.scheduled = false;
        pending.changes.drain().flat_map(|(handle, mask)| [handle, mask]).collect()
    }

    /// One more thing that the program waits for.
    pub fn begin(&self) {
        self.live.fetch_add(1, Ordering::AcqRel);
    }

    /// One less. The last one lets the program go: the JavaScript thread may have taken its news before this, and seen
    /// that there is still something to wait for.
    pub fn end(&self) {
        if self.live.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.call_again();
        }
    }

    /// How much there is that the program waits for: while there is any, it must not be left to exit.
    pub fn live(&self) -> i64 {
        self.live.load(Ordering::Acquire)
    }

    /// Whether there is any, or news that the JavaScript thread has not heard. Whoever has the last news says so first
    /// ([`Wakes::mark`]) and then counts down, or the program could exit in between.
    pub fn is_live(&self) -> bool {
        self.live() > 0 || self.pending.lock().unwrap_or_else(PoisonError::into_inner).scheduled
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed test may panic")]
    use std::sync::{Arc, atomic::AtomicUsize};

    use super::*;

    #[test]
    fn i4_a_flood_of_changes_makes_one_call_until_it_is_taken() {
        let wakes = Wakes::default();
        let calls = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&calls);
        wakes.on_change(move || {
            counter.fetch_add(1, Ordering::SeqCst);
        });
        for _ in 0..1000 {
            wakes.mark(7, changed::STDOUT);
            wakes.mark(7, changed::OUTCOME);
        }
        assert_eq!(calls.load(Ordering::SeqCst), 1);
        assert_eq!(wakes.drain(), [7, changed::STDOUT | changed::OUTCOME]);
        wakes.mark(8, changed::PID);
        assert_eq!(calls.load(Ordering::SeqCst), 2);
        assert_eq!(wakes.drain(), [8, changed::PID]);
        assert!(wakes.drain().is_empty());
    }

    #[test]
    fn news_that_nobody_heard_hold_the_program() {
        let wakes = Wakes::default();
        wakes.begin();
        wakes.mark(1, changed::OUTCOME);
        wakes.end();
        assert!(wakes.is_live());
        wakes.drain();
        assert!(!wakes.is_live());
    }

    #[test]
    fn the_last_end_is_seen_even_when_its_news_were_taken_before_it() {
        let wakes = Wakes::default();
        let calls = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&calls);
        wakes.on_change(move || {
            counter.fetch_add(1, Ordering::SeqCst);
        });
        wakes.begin();
        wakes.mark(1, changed::ANSWER);
        assert_eq!(wakes.drain(), [1, changed::ANSWER]);
        assert!(wakes.is_live());
        wakes.end();
        assert_eq!(calls.load(Ordering::SeqCst), 2);
        assert!(wakes.drain().is_empty() && !wakes.is_live());
    }

    #[test]
    fn handle_ids_begin_at_one_and_never_repeat() {
        let wakes = Wakes::default();
        assert_eq!([wakes.next_id(), wakes.next_id(), wakes.next_id()], [1, 2, 3]);
    }
}
