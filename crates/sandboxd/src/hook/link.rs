//! What is known and ordered about one client connection.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::task::AtomicWaker;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Faults, How};

/// One client connection to the edge, shared by its stream, its requests and the administration.
#[derive(Debug)]
pub struct Link {
    /// A number of its own.
    pub id: u64,
    /// The client's address.
    pub peer: SocketAddr,
    /// Since when.
    pub born: Instant,
    /// Bytes received from the client.
    pub up: AtomicU64,
    /// Bytes sent to the client.
    pub down: AtomicU64,
    /// Requests whose response has not ended.
    pub open: AtomicUsize,
    /// Wakes a stalled reader and writer when the plan changes.
    pub(super) reader: AtomicWaker,
    pub(super) writer: AtomicWaker,
    sandbox: Mutex<Option<Arc<str>>>,
    faults: watch::Sender<Arc<Faults>>,
    touched: AtomicBool,
    reset: AtomicBool,
    over: CancellationToken,
}

impl Link {
    /// A connection under `faults`.
    pub fn new(id: u64, peer: SocketAddr, faults: Arc<Faults>) -> Self {
        let touched = faults.touches_bytes();
        Self {
            id,
            peer,
            born: Instant::now(),
            up: AtomicU64::new(0),
            down: AtomicU64::new(0),
            open: AtomicUsize::new(0),
            reader: AtomicWaker::new(),
            writer: AtomicWaker::new(),
            sandbox: Mutex::new(None),
            faults: watch::Sender::new(faults),
            touched: AtomicBool::new(touched),
            reset: AtomicBool::new(false),
            over: CancellationToken::new(),
        }
    }

    /// The sandbox that the last request was for.
    pub fn sandbox(&self) -> Option<Arc<str>> {
        self.sandbox.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes the sandbox of a request; true when it is another one than before.
    pub fn assign(&self, sandbox: &Arc<str>) -> bool {
        let mut now = self.sandbox.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = now.as_ref() != Some(sandbox);
        if changed {
            *now = Some(Arc::clone(sandbox));
        }
        changed
    }

    /// The plan in force.
    pub fn faults(&self) -> Arc<Faults> {
        self.faults.borrow().clone()
    }

    /// Puts another plan in force, at once.
    pub fn set_faults(&self, faults: Arc<Faults>) {
        self.touched.store(faults.touches_bytes(), Ordering::Release);
        self.faults.send_replace(faults);
        self.reader.wake();
        self.writer.wake();
    }

    /// Whether the plan in force touches bytes.
    pub fn touched(&self) -> bool {
        self.touched.load(Ordering::Acquire)
    }

    /// Closes the connection now.
    pub fn cut(&self, how: How) {
        if how == How::Rst {
            self.reset_on_close();
        }
        self.over.cancel();
    }

    /// However the connection ends from now on, the client sees a reset.
    pub fn reset_on_close(&self) {
        self.reset.store(true, Ordering::Release);
    }

    /// Whether the client shall see a reset.
    pub fn resets(&self) -> bool {
        self.reset.load(Ordering::Acquire)
    }

    /// Whether the connection has been cut.
    pub fn is_cut(&self) -> bool {
        self.over.is_cancelled()
    }

    /// Resolves when the connection has to be closed: it was cut, or its plan gives it no more time.
    pub async fn over(&self) {
        let mut plans = self.faults.subscribe();
        loop {
            let cut = plans.borrow_and_update().cut;
            let limit = cut.and_then(|cut| cut.every_ms).map(|ms| self.born + std::time::Duration::from_millis(ms));
            tokio::select! {
                () = self.over.cancelled() => return,
                () = tokio::time::sleep_until(limit.unwrap_or(self.born)), if limit.is_some() => {
                    self.cut(cut.map(|cut| cut.how).unwrap_or_default());
                    return;
                }
                // The sender lives as long as this link.
                _ = plans.changed() => {}
            }
        }
    }
}
