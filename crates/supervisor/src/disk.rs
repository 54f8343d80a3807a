//! The thread for what may block on a disk.
//!
//! It writes spill files and looks for executables. It never forks: the parent-death signal of programs follows the thread
//! that forked them. It is started when it is first needed.

use std::collections::HashMap;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use process::spill::{State, Writer, private_directory};
use protocol::control::{Resolve, ResolveFailure};
use rustix::event::EventfdFlags;
use serde_bytes::ByteBuf;

use crate::resolve;

/// A spill file: its command and which of its outputs.
pub type Key = (u32, usize);

/// What the thread is to do.
pub enum Job {
    /// Append to a spill file; the first one creates it.
    Write {
        /// Which.
        key: Key,
        /// Where it is to be.
        path: PathBuf,
        /// Its cap in bytes.
        cap: u64,
        /// What to append.
        bytes: Vec<u8>,
    },
    /// End a spill file.
    Finish {
        /// Which.
        key: Key,
        /// Whether it is to stay.
        keep: bool,
    },
    /// Find an executable.
    Resolve {
        /// Under which id it was asked for.
        command: u32,
        /// The question.
        question: Resolve,
    },
}

/// What the thread has done.
pub enum Done {
    /// A write.
    Wrote {
        /// Which file.
        key: Key,
        /// Bytes of that job.
        bytes: usize,
        /// The offset up to which the file is complete; `None` when the file is gone.
        complete: Option<u64>,
    },
    /// The end of a file.
    Finished {
        /// Which.
        key: Key,
        /// Whether a valid file is left.
        kept: bool,
    },
    /// An executable was looked for.
    Resolved {
        /// Under which id.
        command: u32,
        /// The answer.
        answer: Result<ByteBuf, ResolveFailure>,
    },
}

/// The event loop's end of the thread.
pub struct Disk {
    bell: Arc<OwnedFd>,
    jobs: Option<Sender<Job>>,
    done: Option<Receiver<Done>>,
}

impl Disk {
    /// No thread yet.
    pub fn new() -> io::Result<Self> {
        let bell = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { bell: Arc::new(bell), jobs: None, done: None })
    }

    /// Becomes readable when something is done.
    pub fn bell(&self) -> BorrowedFd<'_> {
        std::os::fd::AsFd::as_fd(&*self.bell)
    }

    /// Gives the thread something to do; false when there can be no thread.
    pub fn submit(&mut self, job: Job) -> bool {
        if self.jobs.is_none() && self.start().is_err() {
            return false;
        }
        self.jobs.as_ref().is_some_and(|jobs| jobs.send(job).is_ok())
    }

    fn start(&mut self) -> io::Result<()> {
        let (jobs, inbox) = channel();
        let (outbox, done) = channel();
        let bell = Arc::clone(&self.bell);
        // Its signals are blocked as the event loop's are, from which it inherits the mask.
        std::thread::Builder::new().name("disk".into()).stack_size(256 * 1024).spawn(move || {
            let mut writers = HashMap::new();
            for job in inbox {
                let done = run(job, &mut writers);
                if outbox.send(done).is_err() {
                    break;
                }
                let _ = rustix::io::write(&*bell, &1u64.to_ne_bytes());
            }
        })?;
        self.jobs = Some(jobs);
        self.done = Some(done);
        Ok(())
    }

    /// What is done since the last call.
    pub fn take_done(&self) -> Vec<Done> {
        let _ = rustix::io::read(&*self.bell, &mut [0u8; 8]);
        self.done.iter().flat_map(Receiver::try_iter).collect()
    }
}

fn run(job: Job, writers: &mut HashMap<Key, Option<Writer>>) -> Done {
    match job {
        Job::Write { key, path, cap, bytes } => {
            let writer = writers.entry(key).or_insert_with(|| create(&path, cap).ok());
            if let Some(writer) = writer {
                writer.write(&bytes);
            }
            let good = writer.as_ref().filter(|writer| writer.state() == State::Complete);
            Done::Wrote { key, bytes: bytes.len(), complete: good.map(Writer::written) }
        }
        Job::Finish { key, keep } => {
            let kept = writers.remove(&key).flatten().is_some_and(|writer| writer.finish(keep));
            Done::Finished { key, kept }
        }
        Job::Resolve { command, question } => Done::Resolved { command, answer: resolve::find(&question) },
    }
}

fn create(path: &Path, cap: u64) -> io::Result<Writer> {
    if let Some(directory) = path.parent() {
        private_directory(directory)?;
    }
    Writer::create(path.to_owned(), cap)
}
