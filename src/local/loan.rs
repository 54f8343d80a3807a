//! The pipe of a program that writes faster than anybody could be told of it: JavaScript, which has read all before, reads it by
//! itself for a while. Where every core is busy a thread between the two costs more than it gives: 1.4 became 2.7 GiB/s on two cores.

use std::{
    hint::black_box,
    io,
    os::fd::{AsFd, OwnedFd},
    sync::{
        Arc, Mutex, MutexGuard, Once, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use rustix::io::retry_on_intr;

use super::flow::Flow;
use crate::session::output::Lent;

/// How long the next bytes of a fast program are waited for without sleep. Its next write takes a few microseconds.
const PATIENCE: Duration = Duration::from_micros(30);

/// How long one piece is gathered at most: JavaScript's thread does nothing else meanwhile. A fast program fills it in half of this.
const SPAN: Duration = Duration::from_micros(200);

/// Bytes of one piece from which on a program writes faster than one event for each write could be told.
pub const FAST: usize = 32 * 1024;

/// A pipe that was lent to JavaScript.
#[derive(Debug)]
pub struct Loan {
    pipe: Mutex<Lending>,
    used: AtomicBool,
    flow: Arc<Flow>,
}

#[derive(Debug)]
struct Lending {
    pipe: Option<Arc<OwnedFd>>,
    taken: u64,
    /// It came slower than it was read, or ended: there is something to wait for.
    dry: bool,
}

impl Loan {
    /// Lends a pipe; `flow` is woken when it is dry.
    pub fn new(pipe: Arc<OwnedFd>, flow: Arc<Flow>) -> Self {
        keep_memory();
        Self {
            pipe: Mutex::new(Lending { pipe: Some(pipe), taken: 0, dry: false }),
            used: AtomicBool::new(false),
            flow,
        }
    }

    /// Whether JavaScript has read since the last time that this was asked.
    pub fn was_used(&self) -> bool {
        self.used.swap(false, Ordering::AcqRel)
    }

    /// Whether there is something to wait for, which JavaScript does not.
    pub fn is_dry(&self) -> bool {
        self.lock().dry
    }

    /// Takes the pipe back. Gives the number of bytes that were read from it.
    pub fn end(&self) -> u64 {
        let mut lending = self.lock();
        lending.pipe = None;
        lending.taken
    }

    fn lock(&self) -> MutexGuard<'_, Lending> {
        self.pipe.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lent for Loan {
    fn read(&self, room: &mut [u8]) -> usize {
        let mut lending = self.lock();
        let Some(pipe) = &lending.pipe else { return 0 };
        let count = gather(pipe, room).unwrap_or(0);
        self.used.store(true, Ordering::Release);
        lending.taken += count as u64;
        lending.dry = count < FAST.min(room.len());
        if lending.dry {
            self.flow.wake();
        }
        count
    }
}

/// Lets glibc keep the memory of pieces for the next ones. Until something larger than 128 KiB was freed, each piece is a mapping of
/// its own, whose every page is a fault; after that the limits are what was freed and twice as much (mallopt(3), `M_MMAP_THRESHOLD`):
/// so much may stay with the process when it was used once.
fn keep_memory() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| drop(black_box(Vec::<u8>::with_capacity(31 << 20))));
}

/// Reads what a program writes meanwhile, too. Reading at once what there is, while it still is in the processor's cache, and going on
/// costs half of sleeping until there is more.
///
/// # Errors
/// When nothing could be read. 0 bytes are the end.
fn gather(pipe: impl AsFd, room: &mut [u8]) -> io::Result<usize> {
    let mut count = retry_on_intr(|| rustix::io::read(&pipe, &mut *room))?;
    let begun = Instant::now();
    let mut came = begun;
    while count > 0 && count < room.len() {
        let more = retry_on_intr(|| rustix::io::read(&pipe, &mut room[count..]));
        let now = Instant::now();
        match more {
            Ok(0) => break,
            Ok(more) => (count, came) = (count + more, now),
            Err(_) if now - came > PATIENCE => break,
            Err(_) => std::hint::spin_loop(),
        }
        if now - begun > SPAN {
            break;
        }
    }
    Ok(count)
}
