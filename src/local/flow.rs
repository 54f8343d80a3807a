//! What an output's reader is told: how much of what it gave was taken, and when to stop.

use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use tokio::sync::{Notify, oneshot};

/// Bytes that wait for JavaScript at most; then the program feels a slow reader.
const WINDOW: usize = 1024 * 1024;
/// Fewer bytes that JavaScript took need not be told: the window is open still.
pub const WORTH_TELLING: usize = WINDOW / 4;

/// Shared by one reader and those who steer it.
#[derive(Debug)]
pub struct Flow {
    waiting: AtomicUsize,
    closed: AtomicBool,
    cut: AtomicBool,
    changed: Notify,
    /// Who waits until what is there has been given. `None` once there is no reader any more.
    askers: Mutex<Option<Vec<oneshot::Sender<()>>>>,
}

impl Default for Flow {
    fn default() -> Self {
        Self {
            waiting: AtomicUsize::default(),
            closed: AtomicBool::default(),
            cut: AtomicBool::default(),
            changed: Notify::default(),
            askers: Mutex::new(Some(Vec::new())),
        }
    }
}

impl Flow {
    /// JavaScript took so many bytes.
    pub fn consumed(&self, bytes: usize) {
        let before = self.waiting.fetch_sub(bytes, Ordering::AcqRel);
        if before >= WINDOW {
            self.changed.notify_one();
        }
    }

    /// Whoever reads shall look again.
    pub fn wake(&self) {
        self.changed.notify_one();
    }

    /// Nobody reads it any more.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.changed.notify_one();
    }

    /// What is in the pipe now is still taken; what comes later is not.
    pub fn cut(&self) {
        self.cut.store(true, Ordering::Release);
        self.changed.notify_one();
    }

    /// So many more bytes wait for JavaScript.
    pub fn given(&self, bytes: usize) {
        self.waiting.fetch_add(bytes, Ordering::AcqRel);
    }

    /// How many more may be given now.
    pub fn room(&self) -> usize {
        WINDOW.saturating_sub(self.waiting.load(Ordering::Acquire))
    }

    /// Whether JavaScript has taken all but the last so many bytes.
    pub fn is_even(&self, last: usize) -> bool {
        self.waiting.load(Ordering::Acquire) <= last
    }

    /// Whether nobody reads it any more.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Whether later bytes are unwanted.
    pub fn is_cut(&self) -> bool {
        self.cut.load(Ordering::Acquire)
    }

    /// Waits until the reader has given what is there now, as far as there is room for it.
    pub async fn given_until_now(&self) {
        let (given, heard) = oneshot::channel();
        match &mut *self.askers() {
            Some(askers) => askers.push(given),
            None => return,
        }
        self.changed.notify_one();
        // Fails when the reader ends: nothing more is given then.
        let _ = heard.await;
    }

    /// Whether somebody waits until what is there has been given.
    pub fn is_asked(&self) -> bool {
        self.askers().as_ref().is_some_and(|askers| !askers.is_empty())
    }

    /// What was there has been given.
    pub fn all_given(&self) {
        for asker in self.askers().iter_mut().flat_map(std::mem::take) {
            let _ = asker.send(());
        }
    }

    /// Nothing is given any more.
    pub fn end(&self) {
        self.askers().take();
    }

    fn askers(&self) -> MutexGuard<'_, Option<Vec<oneshot::Sender<()>>>> {
        self.askers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Resolves when any of this changed since the last time.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn c52_nobody_waits_for_a_reader_that_has_ended() {
        let flow = Flow::default();
        flow.end();
        assert!(tokio::time::timeout(Duration::from_secs(10), flow.given_until_now()).await.is_ok());
    }
}
