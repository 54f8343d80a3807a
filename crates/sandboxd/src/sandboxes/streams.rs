//! The requests that a sandbox is just answering.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

use crate::hook::{How, Link};

#[derive(Debug)]
struct Open {
    link: Arc<Link>,
    /// Ends this request alone, where the connection carries others too (HTTP/2).
    alone: Option<CancellationToken>,
}

#[derive(Debug, Default)]
struct Inner {
    next: u64,
    open: HashMap<u64, Open>,
}

/// Open requests of one sandbox.
#[derive(Clone, Debug, Default)]
pub struct Streams(Arc<Mutex<Inner>>);

/// One open request; dropping it says that it has ended.
#[derive(Debug)]
pub struct Entered {
    streams: Streams,
    number: u64,
    link: Arc<Link>,
    cancelled: Option<CancellationToken>,
}

impl Streams {
    fn inner(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a request on `link`, which is `multiplexed` if it carries others at the same time.
    pub fn enter(&self, link: &Arc<Link>, multiplexed: bool) -> Entered {
        let cancelled = multiplexed.then(CancellationToken::new);
        let mut inner = self.inner();
        inner.next += 1;
        let number = inner.next;
        inner.open.insert(number, Open { link: Arc::clone(link), alone: cancelled.clone() });
        link.open.fetch_add(1, Ordering::Relaxed);
        drop(inner);
        Entered { streams: self.clone(), number, link: Arc::clone(link), cancelled }
    }

    /// Resets every open request.
    pub fn reset(&self) {
        for open in self.inner().open.values() {
            match &open.alone {
                Some(alone) => alone.cancel(),
                None => open.link.cut(How::Rst),
            }
        }
    }
}

impl Entered {
    /// Set when the request shares its connection: fires when it has to be broken off.
    pub fn cancelled(&self) -> Option<&CancellationToken> {
        self.cancelled.as_ref()
    }

    /// The sandbox broke the response off: the client shall not take it for complete.
    pub fn broken(&self) {
        if self.cancelled.is_none() {
            self.link.reset_on_close();
        }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.streams.inner().open.remove(&self.number);
        self.link.open.fetch_sub(1, Ordering::Relaxed);
    }
}
