//! Which processes there are, and how those ended that just did.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use envd_api::process::{ProcessSelector, process_event::EndEvent, process_selector::Selector};

use super::running::Process;
use crate::envd::connect::Error;

/// How long the end of a process can still be asked for.
const RETENTION: Duration = Duration::from_secs(30);

/// The processes of one sandbox.
#[derive(Default)]
pub struct Registry {
    tables: Mutex<Tables>,
}

#[derive(Default)]
struct Tables {
    live: BTreeMap<u32, Arc<Process>>,
    ended: BTreeMap<u32, Ended>,
}

/// What is kept of a process that has ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// The pid that it had.
    pub pid: u32,
    /// How it ended.
    pub end: EndEvent,
    tag: Option<String>,
    until: Instant,
}

impl Registry {
    /// Adds a process. What is known of an earlier one with its pid or tag is forgotten.
    pub fn add(&self, process: Arc<Process>) {
        let mut tables = self.lock();
        tables.ended.remove(&process.pid);
        if process.tag.is_some() {
            tables.ended.retain(|_, ended| ended.tag != process.tag);
        }
        tables.live.insert(process.pid, process);
    }

    /// Moves a process to those that have ended, unless its pid belongs to another one by now.
    pub fn retire(&self, process: &Arc<Process>, end: EndEvent) {
        let mut tables = self.lock();
        if tables.live.get(&process.pid).is_some_and(|live| Arc::ptr_eq(live, process)) {
            tables.live.remove(&process.pid);
            let ended = Ended { pid: process.pid, end, tag: process.tag.clone(), until: Instant::now() + RETENTION };
            tables.ended.insert(process.pid, ended);
        }
    }

    /// All live processes, by pid.
    pub fn all(&self) -> Vec<Arc<Process>> {
        self.lock().live.values().cloned().collect()
    }

    /// The live process that a request means.
    ///
    /// # Errors
    /// `not_found`, or `unimplemented` when the request names none.
    pub fn find(&self, selector: Option<&ProcessSelector>) -> Result<Arc<Process>, Error> {
        let tables = self.lock();
        match selector.and_then(|selector| selector.selector.as_ref()) {
            Some(Selector::Pid(pid)) => tables
                .live
                .get(pid)
                .cloned()
                .ok_or_else(|| Error::not_found(format!("process with pid {pid} not found"))),
            Some(Selector::Tag(tag)) => tables
                .live
                .values()
                .find(|process| process.tag.as_ref() == Some(tag))
                .cloned()
                .ok_or_else(|| Error::not_found(format!("process with tag {tag} not found"))),
            None => Err(Error::unimplemented("invalid input type: no selector")),
        }
    }

    /// The end of a process that a request means, if that was not long ago.
    pub fn find_ended(&self, selector: Option<&ProcessSelector>) -> Option<Ended> {
        let mut tables = self.lock();
        let now = Instant::now();
        tables.ended.retain(|_, ended| ended.until > now);
        match selector?.selector.as_ref()? {
            Selector::Pid(pid) => tables.ended.get(pid).cloned(),
            Selector::Tag(tag) => tables.ended.values().find(|ended| ended.tag.as_ref() == Some(tag)).cloned(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
