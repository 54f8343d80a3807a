//! One output of a program: read as fast as somebody takes it, into the command's window or queue.

use std::{
    cell::RefCell,
    io,
    os::fd::{AsFd, OwnedFd},
    sync::{Arc, Mutex, PoisonError},
};

use bytes::Bytes;
use process::pipe::{Budget, Grant};
use protocol::control::{EndReason, OutputChannel, StreamEnd};
use tokio::io::{Interest, unix::AsyncFd};

use super::{
    flow::{Flow, WORTH_TELLING},
    spill::Spill,
    watched::watch,
};
use crate::session::command::Command;

/// Most bytes of one read.
const CHUNK: usize = 256 * 1024;
/// More than the kernel holds of a terminal's output: who asks for what is there gets no later bytes for sure.
const HELD: u64 = 128 * 1024;
/// Bytes after which a larger pipe pays: most programs never say that much.
const BUSY: u64 = 1024 * 1024;

/// Large pipes are dear to everybody of this user: all readers of this process share what may be spent.
static BUDGET: Mutex<Option<Budget>> = Mutex::new(None);

thread_local! {
    /// Where bytes are read to that are copied from there anyway.
    static SCRATCH: RefCell<Box<[u8]>> = RefCell::new(vec![0; CHUNK].into_boxed_slice());
}

/// What becomes of the bytes.
#[derive(Debug)]
pub enum Sink {
    /// They wait for JavaScript.
    Queue,
    /// They go into the window of so many bytes, and into a file once there are more.
    Tail {
        /// Bytes.
        window: u64,
        /// The file.
        spill: Option<Spill>,
    },
}

/// Reads one output.
#[derive(Debug)]
pub struct Reader {
    /// Where it goes.
    pub command: Arc<Command>,
    /// Which output.
    pub channel: OutputChannel,
    /// How it is steered.
    pub flow: Arc<Flow>,
    /// What becomes of its bytes.
    pub sink: Sink,
    /// Whether it is a terminal: then it ends when nothing is left after a cut, not at a byte count.
    pub terminal: bool,
}

impl Reader {
    /// Reads until the end and tells it.
    pub async fn run(mut self, source: OwnedFd) {
        self.command.tell_from(self.channel, WORTH_TELLING);
        let mut total = 0;
        let reason = match watch(source, Interest::READABLE) {
            Ok(source) => {
                let mut pipe = Pipe { source, grant: None, grown: false };
                let reason = self.read(&mut pipe, &mut total).await;
                pipe.release();
                reason
            }
            Err(_) => EndReason::Closed,
        };
        self.flow.end();
        let spilled = match self.sink {
            Sink::Tail { window, spill: Some(spill) } => {
                let keep = reason == EndReason::Eof && total > window;
                tokio::task::block_in_place(|| spill.finish(keep))
            }
            _ => false,
        };
        self.command.finish(self.channel, Some(StreamEnd { offset: total, reason, spilled }));
    }

    async fn read(&mut self, pipe: &mut Pipe, total: &mut u64) -> EndReason {
        // The offset at which it is cut, once it is.
        let mut end = None;
        // The offset at which who asks for what is there has all of it.
        let mut owed = None;
        loop {
            if self.flow.is_closed() {
                return EndReason::Closed;
            }
            if self.flow.is_cut() && end.is_none() && !self.terminal {
                end = Some(*total + pipe.waiting());
            }
            let room = self.room(*total, end);
            if end == Some(*total) {
                return EndReason::Cut;
            }
            let asked = self.flow.is_asked();
            let all = *owed.get_or_insert(*total + HELD);
            if !asked {
                owed = None;
            } else if room == 0 || *total >= all {
                self.flow.all_given();
                continue;
            }
            if room == 0 {
                self.flow.changed().await;
                continue;
            }
            let taken = if asked || self.flow.is_cut() {
                // No event comes for what is not there: look.
                self.take(pipe.source.get_ref(), room)
            } else {
                tokio::select! {
                    ready = pipe.source.readable() => match ready {
                        Ok(mut ready) => ready.try_io(|source| self.take(source.get_ref(), room)).unwrap_or_else(|_| Err(io::ErrorKind::WouldBlock.into())),
                        Err(_) => return EndReason::Closed,
                    },
                    () = self.flow.changed() => continue,
                }
            };
            match taken {
                Ok(0) => return EndReason::Eof,
                Ok(count) => {
                    *total += count as u64;
                    pipe.grow_if_busy(*total);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.flow.all_given();
                    if self.flow.is_cut() {
                        return if self.terminal { EndReason::Eof } else { EndReason::Cut };
                    }
                }
                // A terminal says EIO when its last near end is closed.
                Err(_) => return EndReason::Eof,
            }
        }
    }

    fn room(&self, total: u64, end: Option<u64>) -> usize {
        let wanted = match self.sink {
            Sink::Queue => self.flow.room().min(CHUNK),
            Sink::Tail { .. } => CHUNK,
        };
        end.map_or(wanted, |end| usize::try_from(end - total).map_or(wanted, |left| left.min(wanted)))
    }

    /// One read of at most `room` bytes, and what becomes of them.
    fn take(&mut self, source: &OwnedFd, room: usize) -> io::Result<usize> {
        if matches!(self.sink, Sink::Queue) && !self.terminal {
            // Read to where they stay, in a piece without spare room.
            let waiting = waiting(source).clamp(1, room);
            let mut piece = Vec::with_capacity(waiting);
            let count =
                rustix::io::retry_on_intr(|| rustix::io::read(source, rustix::buffer::spare_capacity(&mut piece)))?;
            self.give(Bytes::from(piece));
            return Ok(count);
        }
        SCRATCH.with_borrow_mut(|scratch| {
            let count = rustix::io::retry_on_intr(|| rustix::io::read(source, &mut scratch[..room]))?;
            if count > 0 {
                self.keep(&scratch[..count]);
            }
            Ok(count)
        })
    }

    fn give(&self, piece: Bytes) {
        if piece.is_empty() {
            return;
        }
        // Counted first: JavaScript may have taken it before the next line is reached.
        let length = piece.len();
        self.flow.given(length);
        let (consumed, waits) = self.command.push(self.channel, piece);
        if waits {
            self.command.announce(self.channel);
        }
        if consumed > 0 {
            self.flow.consumed(consumed);
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        match &mut self.sink {
            Sink::Queue => self.give(Bytes::copy_from_slice(bytes)),
            Sink::Tail { window, spill } => {
                if let Some(spill) = spill.as_mut().filter(|spill| !spill.is_lost()) {
                    // A slow disk holds this stream only.
                    tokio::task::block_in_place(|| spill_to(spill, bytes, *window, &self.command, self.channel));
                }
                self.command.push_slice(self.channel, bytes);
            }
        }
    }
}

/// Writes to the file what the window is about to lose; it holds everything else still.
fn spill_to(spill: &mut Spill, bytes: &[u8], window: u64, command: &Command, channel: OutputChannel) {
    let before = command.total(channel);
    let total = before + bytes.len() as u64;
    if !spill.is_open() {
        if total <= window {
            return;
        }
        if total > spill.cap() {
            spill.lose();
            return command.spill(channel, |output| output.lose_spill());
        }
        let Some(path) = spill.begin() else { return command.spill(channel, |output| output.lose_spill()) };
        if let Some(held) = command.read_from(channel, 0) {
            spill.write(&held.bytes);
        }
        let path = path.to_string_lossy().into_owned();
        command.spill(channel, |output| output.set_spill_path(path));
    }
    let complete = spill.write(bytes);
    command.spill(channel, |output| if complete { output.set_spilled(total) } else { output.lose_spill() });
}

struct Pipe {
    source: AsyncFd<OwnedFd>,
    grant: Option<Grant>,
    grown: bool,
}

impl Pipe {
    fn waiting(&self) -> u64 {
        waiting(self.source.get_ref()) as u64
    }

    fn grow_if_busy(&mut self, total: u64) {
        if total >= BUSY && !std::mem::replace(&mut self.grown, total >= BUSY) {
            let mut budget = BUDGET.lock().unwrap_or_else(PoisonError::into_inner);
            self.grant = budget.get_or_insert_with(Budget::of_this_system).enlarge(&self.source);
        }
    }

    fn release(self) {
        if let Some(grant) = self.grant {
            drop(self.source);
            if let Some(budget) = &mut *BUDGET.lock().unwrap_or_else(PoisonError::into_inner) {
                budget.forget(grant);
            }
        }
    }
}

/// Bytes that can be read at once.
fn waiting(source: impl AsFd) -> usize {
    rustix::io::ioctl_fionread(source).ok().and_then(|count| usize::try_from(count).ok()).unwrap_or(0)
}
