//! Watching directories: [`Watch`] is one watch, [`Watchers`] are all of a sandbox.
//!
//! The kernel's queue of a watch can be read at any time by anyone ([`Watch::settle`]), not only when
//! it becomes readable. That makes two promises possible: who polls right after a change sees it,
//! and who makes a directory and then a file in it gets the events of both.

mod inotify;
mod tree;
mod watchers;

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use envd_api::filesystem::{EventType, FilesystemEvent};
use tokio::sync::Notify;

use self::inotify::{Change, Inotify};
pub use self::watchers::Watchers;
use super::entry::Entries;
use crate::envd::connect::Error;

/// What to watch and how.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Absolute; events name paths relative to it.
    pub directory: PathBuf,
    /// Also all directories below it, present and future.
    pub recursive: bool,
    /// Whether events of what is still there tell about it.
    pub include_entry: bool,
}

/// One watch. Ends when it is dropped.
#[derive(Debug)]
pub struct Watch {
    settings: Settings,
    queue: Mutex<Queue>,
    readable: inotify::Readable,
    settled: Notify,
}

#[derive(Debug)]
struct Queue {
    inotify: Inotify,
    events: Vec<FilesystemEvent>,
    failure: Option<Error>,
}

impl Queue {
    /// The kernel merges an event that repeats the last one in its queue. Whether it could, depends on when we read:
    /// what waits here is merged the same way, so that a truncation and a write are one event however they fell.
    fn add(&mut self, event: FilesystemEvent) {
        match self.events.last_mut() {
            Some(last) if last.name == event.name && last.r#type == event.r#type => *last = event,
            _ => self.events.push(event),
        }
    }
}

impl Watch {
    /// Arms a watch: what happens from now on is seen.
    ///
    /// # Errors
    /// The system's, e.g. for too many watches.
    pub fn arm(settings: Settings) -> io::Result<Self> {
        let (inotify, readable) = Inotify::arm(&settings.directory, settings.recursive)?;
        let queue = Mutex::new(Queue { inotify, events: Vec::new(), failure: None });
        Ok(Self { settings, queue, readable, settled: Notify::new() })
    }

    /// Takes all events so far.
    ///
    /// # Errors
    /// `internal` when the watch has failed, from then on for ever.
    pub fn take(&self) -> Result<Vec<FilesystemEvent>, Error> {
        let mut queue = self.settle();
        match &queue.failure {
            // What came before the failure is told first.
            Some(failure) if queue.events.is_empty() => Err(failure.clone()),
            _ => Ok(std::mem::take(&mut queue.events)),
        }
    }

    /// Waits until there may be something to take.
    pub async fn changed(&self) {
        tokio::select! {
            () = self.readable.wait() => {}
            () = self.settled.notified() => {}
        }
    }

    /// Reads the kernel's queue to its end and arms what has to be armed because of it.
    fn settle(&self) -> MutexGuard<'_, Queue> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let before = queue.events.len();
        loop {
            match queue.inotify.read() {
                Ok(changes) if changes.is_empty() => break,
                Ok(changes) => {
                    let mut entries = Entries::default();
                    for event in changes.iter().flat_map(|change| self.events(change, &mut entries)) {
                        queue.add(event);
                    }
                }
                Err(error) => {
                    queue.failure.get_or_insert(Error::internal(format!("watcher error: {error}")));
                    break;
                }
            }
        }
        if queue.events.len() > before || queue.failure.is_some() {
            self.settled.notify_one();
        }
        queue
    }

    fn events(&self, change: &Change, entries: &mut Entries) -> Vec<FilesystemEvent> {
        let name = relative(&self.settings.directory, &change.path);
        change
            .types
            .iter()
            .map(|r#type| {
                // What was removed or renamed is not what may be there now.
                let is_there = matches!(r#type, EventType::Create | EventType::Write | EventType::Chmod);
                let entry =
                    (self.settings.include_entry && is_there).then(|| entries.entry(&change.path).ok()).flatten();
                FilesystemEvent { name: name.clone(), r#type: (*r#type).into(), entry }
            })
            .collect()
    }
}

/// The watched directory itself is a dot.
fn relative(directory: &Path, path: &Path) -> String {
    let name = path.strip_prefix(directory).unwrap_or(path).to_string_lossy().into_owned();
    if name.is_empty() { ".".into() } else { name }
}
