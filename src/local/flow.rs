//! What an output's reader is told: how much of what it gave was taken, and when to stop.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::Notify;

/// Bytes that wait for JavaScript at most; then the program feels a slow reader.
const WINDOW: usize = 1024 * 1024;

/// Shared by one reader and those who steer it.
#[derive(Debug, Default)]
pub struct Flow {
    waiting: AtomicUsize,
    closed: AtomicBool,
    cut: AtomicBool,
    changed: Notify,
}

impl Flow {
    /// JavaScript took so many bytes.
    pub fn consumed(&self, bytes: usize) {
        let before = self.waiting.fetch_sub(bytes, Ordering::AcqRel);
        if before >= WINDOW {
            self.changed.notify_one();
        }
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

    /// Whether nobody reads it any more.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Whether later bytes are unwanted.
    pub fn is_cut(&self) -> bool {
        self.cut.load(Ordering::Acquire)
    }

    /// Resolves when any of this changed since the last time.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }
}
