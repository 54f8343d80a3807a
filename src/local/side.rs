//! Work that blocks, off the runtime's thread.
//!
//! Not on the runtime's own threads for that: where the system gives it none (a limit of processes, which a program that is to be
//! ended may have reached), it panics, or keeps the work until there is one, and ending a tree would wait for the tree.

use std::{
    sync::{
        Mutex, PoisonError,
        mpsc::{self, Receiver, Sender},
    },
    thread,
};

use tokio::sync::oneshot;

/// A thread for one kind of work. It begins with the first and is kept: later there may be none to be had.
#[derive(Debug)]
pub struct Side<T: 'static> {
    name: &'static str,
    serve: fn(&Receiver<T>),
    thread: Mutex<Option<Sender<T>>>,
}

impl<T: Send + 'static> Side<T> {
    /// Not begun. `serve` returns when nothing comes any more.
    pub const fn new(name: &'static str, serve: fn(&Receiver<T>)) -> Self {
        Self { name, serve, thread: Mutex::new(None) }
    }

    /// Gives work to the thread.
    ///
    /// # Errors
    /// The work, when the system gives no thread now.
    pub fn give(&self, work: T) -> Result<(), T> {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        let work = match &*thread {
            Some(sender) => match sender.send(work) {
                Ok(()) => return Ok(()),
                // It panicked; the next one knows nothing of that.
                Err(mpsc::SendError(work)) => work,
            },
            None => work,
        };
        *thread = None;
        let (sender, receiver) = mpsc::channel();
        let serve = self.serve;
        if thread::Builder::new().name(self.name.into()).spawn(move || serve(&receiver)).is_err() {
            return Err(work);
        }
        let given = sender.send(work).map_err(|mpsc::SendError(work)| work);
        *thread = Some(sender);
        given
    }
}

type Work = Box<dyn FnOnce() + Send>;

/// Does something that blocks for a few milliseconds at most, aside; here if that can't be. `None` when it panicked.
pub async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    static SIDE: Side<Work> = Side::new("dsh-aside", |works| works.iter().for_each(|work| work()));
    run(&SIDE, work).await
}

/// The same for what a disk may hold for longer: it has a thread of its own.
pub async fn on_disk<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    static SIDE: Side<Work> = Side::new("dsh-disk", |works| works.iter().for_each(|work| work()));
    run(&SIDE, work).await
}

async fn run<T: Send + 'static>(side: &Side<Work>, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (answer, heard) = oneshot::channel();
    let work: Work = Box::new(move || {
        // Fails when nobody waits for it any more.
        let _ = answer.send(work());
    });
    if let Err(work) = side.give(work) {
        work();
    }
    heard.await.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn c64_work_that_panics_costs_itself_only() {
        let name = || thread::current().name().map(str::to_owned);
        assert_eq!(aside(name).await.flatten().as_deref(), Some("dsh-aside"));
        assert_eq!(aside::<()>(|| std::panic::panic_any("a test")).await, None);
        while aside(name).await.is_none() {}
        assert_eq!(aside(name).await.flatten().as_deref(), Some("dsh-aside"));
    }
}
