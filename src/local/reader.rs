//! One output of a program: read as fast as somebody takes it, into the command's window or queue.

use std::{
    cell::RefCell,
    io,
    os::fd::{AsFd, OwnedFd},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use process::pipe::{Budget, Grant};
use protocol::control::{EndReason, OutputChannel, StreamEnd};
use tokio::io::{Interest, unix::AsyncFd};

use super::{
    flow::{Flow, WORTH_TELLING},
    loan::{FAST, Loan},
    side::on_disk,
    spill::Spill,
    watched::watch,
};
use crate::session::{command::Command, output::Lent};

/// Most bytes of one read.
const CHUNK: usize = 256 * 1024;
/// More than the kernel holds of a terminal's output: who asks for what is there gets no later bytes for sure.
const HELD: u64 = 128 * 1024;
/// Bytes after which a larger pipe pays: most programs never say that much.
const BUSY: u64 = 1024 * 1024;

/// Bytes of a loan that pay for the words about it.
const WORTH: u64 = 256 * 1024;
/// After this long without a look at it, a lent pipe is read here again: its end must be seen although nobody reads it.
const PAUSE: Duration = Duration::from_millis(2);

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
        /// What was read and is not in either yet.
        unkept: Vec<u8>,
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
        let mut pipe = Pipe::new(source);
        let reason = self.read(&mut pipe, &mut total).await;
        pipe.release();
        self.flow.end();
        let spilled = match self.sink {
            Sink::Tail { window, spill: Some(spill), .. } if spill.is_open() => {
                let keep = reason == EndReason::Eof && total > window;
                on_disk(move || spill.finish(keep)).await.unwrap_or(false)
            }
            _ => false,
        };
        self.command.finish(self.channel, Some(StreamEnd { offset: total, reason, spilled }));
    }

    async fn read(&mut self, pipe: &mut Pipe, total: &mut u64) -> EndReason {
        // Whether it is lent again as soon as there is something to read.
        let mut lends = false;
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
                self.take(&pipe.source, room)
            } else {
                let Ok(watched) = pipe.watched() else { return EndReason::Closed };
                tokio::select! {
                    ready = watched.readable() => match ready {
                        Ok(_) if lends => {
                            let taken = self.lend(pipe).await;
                            *total += taken;
                            lends = taken >= WORTH;
                            continue;
                        }
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
                    self.keep_spilled().await;
                    pipe.grow_if_busy(*total);
                    lends = *total >= BUSY && count >= FAST && self.is_even(count);
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

    fn is_queued(&self) -> bool {
        matches!(self.sink, Sink::Queue) && !self.terminal
    }

    /// Whether JavaScript has taken all but the last so many bytes.
    fn is_even(&self, last: usize) -> bool {
        self.is_queued() && self.flow.is_even(last)
    }

    /// Lets JavaScript read by itself until it has to wait, pauses, or something else is wanted. Gives the number of bytes that it read.
    async fn lend(&self, pipe: &mut Pipe) -> u64 {
        // Its events would wake this thread for each write.
        pipe.watched = None;
        let loan = Arc::new(Loan::new(Arc::clone(&pipe.source), Arc::clone(&self.flow)));
        self.command.lend(self.channel, Some(Arc::clone(&loan) as Arc<dyn Lent>));
        self.command.announce(self.channel);
        loop {
            let pause = tokio::time::timeout(PAUSE, self.flow.changed()).await.is_err();
            let wanted = self.flow.is_closed() || self.flow.is_cut() || self.flow.is_asked();
            if wanted || loan.is_dry() || (pause && !loan.was_used()) {
                break;
            }
        }
        let taken = loan.end();
        self.command.lend(self.channel, None);
        taken
    }

    /// One read of at most `room` bytes, and what becomes of them.
    fn take(&mut self, source: &OwnedFd, room: usize) -> io::Result<usize> {
        if self.is_queued() {
            // Read to where they stay, in a piece without spare room.
            let waiting = waiting(source).clamp(1, room);
            let mut piece = Vec::with_capacity(waiting);
            let count =
                rustix::io::retry_on_intr(|| rustix::io::read(source, rustix::buffer::spare_capacity(&mut piece)))?;
            self.give(piece);
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

    fn give(&self, piece: Vec<u8>) {
        if piece.is_empty() {
            return;
        }
        // Counted first: JavaScript may have taken it before the next line is reached.
        let length = piece.len();
        self.flow.given(length);
        let (consumed, waits) = self.command.push_whole(self.channel, piece);
        if waits {
            self.command.announce(self.channel);
        }
        if consumed > 0 {
            self.flow.consumed(consumed);
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        match &mut self.sink {
            Sink::Queue => self.give(bytes.to_vec()),
            Sink::Tail { window, spill, unkept } => {
                let spills = |spill: &Spill| {
                    let total = self.command.total(self.channel) + bytes.len() as u64;
                    !spill.is_lost() && (spill.is_open() || total > *window)
                };
                if spill.as_ref().is_some_and(spills) {
                    unkept.extend_from_slice(bytes);
                } else {
                    self.command.push(self.channel, bytes);
                }
            }
        }
    }

    /// Keeps what has to go through the file. A slow disk holds such streams only.
    async fn keep_spilled(&mut self) {
        let Sink::Tail { window, spill, unkept } = &mut self.sink else { return };
        if unkept.is_empty() {
            return;
        }
        let (window, bytes, channel) = (*window, std::mem::take(unkept), self.channel);
        let Some(mut file) = spill.take() else { return };
        let command = Arc::clone(&self.command);
        *spill = on_disk(move || {
            spill_to(&mut file, &bytes, window, &command, channel);
            command.push(channel, &bytes);
            file
        })
        .await;
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
    source: Arc<OwnedFd>,
    /// `None` until something has to be waited for.
    watched: Option<AsyncFd<Arc<OwnedFd>>>,
    grant: Option<Grant>,
    grown: bool,
}

impl Pipe {
    fn new(source: OwnedFd) -> Self {
        Self { source: Arc::new(source), watched: None, grant: None, grown: false }
    }

    fn watched(&mut self) -> io::Result<&AsyncFd<Arc<OwnedFd>>> {
        if self.watched.is_none() {
            self.watched = Some(watch(Arc::clone(&self.source), Interest::READABLE)?);
        }
        self.watched.as_ref().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn waiting(&self) -> u64 {
        waiting(&self.source) as u64
    }

    fn grow_if_busy(&mut self, total: u64) {
        if total >= BUSY && !std::mem::replace(&mut self.grown, total >= BUSY) {
            let mut budget = BUDGET.lock().unwrap_or_else(PoisonError::into_inner);
            self.grant = budget.get_or_insert_with(Budget::of_this_system).enlarge(&self.source);
        }
    }

    fn release(self) {
        if let Some(grant) = self.grant {
            drop((self.watched, self.source));
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
