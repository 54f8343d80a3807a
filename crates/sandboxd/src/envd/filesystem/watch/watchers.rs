//! All watches of a sandbox.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use tokio::task::AbortHandle;

use super::{Settings, Watch};
use crate::envd::connect::Error;

/// All watches of a sandbox: those of streams and those that are polled under a name.
#[derive(Debug, Default)]
pub struct Watchers {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    recursive: Vec<Weak<Watch>>,
    polled: HashMap<String, Polled>,
}

#[derive(Debug)]
struct Polled {
    watch: Arc<Watch>,
    reader: AbortHandle,
}

impl Watchers {
    /// Arms a watch that lasts as long as its handle.
    ///
    /// # Errors
    /// `internal` when the system refuses it.
    pub fn watch(&self, settings: Settings) -> Result<Arc<Watch>, Error> {
        let directory = settings.directory.clone();
        let recursive = settings.recursive;
        let watch = Watch::arm(settings).map(Arc::new).map_err(|error| {
            Error::internal(format!("error adding path {} to watcher: {error}", directory.display()))
        })?;
        if recursive {
            let mut inner = self.lock();
            inner.recursive.retain(|watch| watch.strong_count() > 0);
            inner.recursive.push(Arc::downgrade(&watch));
        }
        Ok(watch)
    }

    /// Keeps a watch under a new name until it is removed. Its events are collected without limit.
    pub fn keep(&self, watch: Arc<Watch>) -> Result<String, Error> {
        let mut random = [0; 10];
        getrandom::fill(&mut random).map_err(|error| Error::internal(format!("no random numbers: {error}")))?;
        let id = random.iter().fold(String::from("w"), |id, byte| id + &format!("{byte:02x}"));
        let reading = watch.clone();
        // The kernel's queue has a limit; nobody may poll for long.
        let reader = tokio::spawn(async move {
            loop {
                reading.readable.wait().await;
                drop(reading.settle());
            }
        });
        self.lock().polled.insert(id.clone(), Polled { watch, reader: reader.abort_handle() });
        Ok(id)
    }

    /// A watch by its name.
    ///
    /// # Errors
    /// `not_found`.
    pub fn find(&self, id: &str) -> Result<Arc<Watch>, Error> {
        self.lock().polled.get(id).map(|polled| polled.watch.clone()).ok_or_else(|| missing(id))
    }

    /// Ends a watch by its name.
    ///
    /// # Errors
    /// `not_found`.
    pub fn remove(&self, id: &str) -> Result<(), Error> {
        let polled = self.lock().polled.remove(id).ok_or_else(|| missing(id))?;
        polled.reader.abort();
        Ok(())
    }

    /// Has every recursive watch see into the directories that there are now. Call it after making a
    /// directory, before anything is put into it.
    pub fn settle(&self) {
        let watches: Vec<Arc<Watch>> = self.lock().recursive.iter().filter_map(Weak::upgrade).collect();
        for watch in watches {
            drop(watch.settle());
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn missing(id: &str) -> Error {
    Error::not_found(format!("watcher with id {id} not found"))
}
