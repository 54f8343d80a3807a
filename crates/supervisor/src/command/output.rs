//! One output of a command: read when the host has credit and it is its turn, never ahead.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::time::Duration;

use process::pipe::{Budget, Grant};
use process::pty::Terminal;
use protocol::control::{EndReason, StreamEnd};
use protocol::{Filled, Time};
use rustix::io::Errno;

use super::spill::{News, Spill};
use crate::disk::Disk;
use crate::grace::{Grace, Observation};
use crate::poller::Poller;

/// Reads in a row that found more, after which a larger pipe pays.
const BUSY: u32 = 16;

/// Where bytes come from or go to.
pub enum Far {
    /// A pipe's end.
    Pipe(OwnedFd),
    /// A terminal's far end, shared by input and output.
    Terminal(Rc<Terminal>),
}

impl AsFd for Far {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Pipe(pipe) => pipe.as_fd(),
            Self::Terminal(terminal) => terminal.as_fd(),
        }
    }
}

/// Where an output is cut although somebody holds it.
#[derive(Clone, Copy)]
enum Cut {
    Never,
    /// At this offset: what was in the pipe when the grace was over is still taken.
    At(u64),
    /// As soon as there is nothing more.
    WhenDrained,
}

/// What reading needs.
pub struct Context<'a> {
    /// For spill files.
    pub disk: &'a mut Disk,
    /// For larger pipes.
    pub budget: &'a mut Budget,
    /// To stop watching what is closed.
    pub poller: &'a Poller,
    /// Now.
    pub now: Time,
}

/// An output.
pub struct Output {
    file: Option<Far>,
    /// Whether a holder delays its end by the grace only.
    pub drained: bool,
    /// Its spill file.
    pub spill: Option<Spill>,
    /// News of the spill file from reading.
    pub news: Option<News>,
    read: u64,
    cut: Cut,
    grace: Grace,
    grant: Option<Grant>,
    busy: u32,
    read_at: Time,
    /// Ended, but the disk has not said what became of the file.
    ending: Option<EndReason>,
    over: bool,
}

impl Output {
    /// An output that reads from `file`.
    pub fn new(file: Far, drained: bool, spill: Option<Spill>) -> Self {
        Self {
            file: Some(file),
            drained,
            spill,
            news: None,
            read: 0,
            cut: Cut::Never,
            grace: Grace::default(),
            grant: None,
            busy: 0,
            read_at: Time(0),
            ending: None,
            over: false,
        }
    }

    /// What it reads from, until its end.
    pub fn file(&self) -> Option<&Far> {
        self.file.as_ref()
    }

    /// Whether its end has been said.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Appends at most `max` bytes to `out`.
    pub fn fill(&mut self, max: usize, out: &mut Vec<u8>, context: &mut Context<'_>) -> Filled {
        let start = out.len();
        let end = self.read_into(max, out, context);
        let bytes = &out[start..];
        if let Some(spill) = &mut self.spill
            && !bytes.is_empty()
        {
            self.news = spill.push(bytes, context.disk).or(self.news.take());
        }
        match end {
            Filled::End(end) => self.finish(end.reason, context).map_or(Filled::Drained, Filled::End),
            other => other,
        }
    }

    fn read_into(&mut self, max: usize, out: &mut Vec<u8>, context: &mut Context<'_>) -> Filled {
        let ended = |reason| Filled::End(StreamEnd { offset: 0, reason, spilled: false });
        if self.spill.as_ref().is_some_and(Spill::is_full) {
            return Filled::Drained;
        }
        let Some(file) = &self.file else { return Filled::Drained };
        let mut left = max;
        while left > 0 {
            let room = match self.cut {
                Cut::At(offset) => left.min(usize::try_from(offset.saturating_sub(self.read)).unwrap_or(left)),
                _ => left,
            };
            if room == 0 {
                return ended(EndReason::Cut);
            }
            match read(file, room, out) {
                Ok(0) => return ended(EndReason::Eof),
                Ok(count) => {
                    self.read += count as u64;
                    left -= count;
                }
                Err(Errno::AGAIN) => {
                    self.busy = 0;
                    return match self.cut {
                        Cut::Never => Filled::Drained,
                        Cut::At(_) => ended(EndReason::Cut),
                        Cut::WhenDrained => ended(EndReason::Eof),
                    };
                }
                // A terminal says EIO when its last near end is closed.
                Err(_) => return ended(EndReason::Eof),
            }
        }
        self.read_at = context.now;
        self.busy += 1;
        if self.busy == BUSY
            && let Far::Pipe(pipe) = file
            && self.grant.is_none()
        {
            self.grant = context.budget.enlarge(pipe);
        }
        Filled::More
    }

    /// Closes it for `reason`; `None` when the disk has to say first what became of the spill file.
    pub fn finish(&mut self, reason: EndReason, context: &mut Context<'_>) -> Option<StreamEnd> {
        self.close(context.poller, context.budget);
        let whole = reason == EndReason::Eof;
        if self.spill.as_mut().is_some_and(|spill| spill.finish(whole, context.disk)) {
            self.ending = Some(reason);
            return None;
        }
        self.over = true;
        Some(StreamEnd { offset: 0, reason, spilled: false })
    }

    /// The disk said what became of the spill file; the end to say, if it waited for that.
    pub fn spill_finished(&mut self, kept: bool) -> Option<StreamEnd> {
        if let Some(spill) = &mut self.spill {
            spill.finished();
        }
        let reason = self.ending.take()?;
        self.over = true;
        Some(StreamEnd { offset: 0, reason, spilled: kept })
    }

    fn close(&mut self, poller: &Poller, budget: &mut Budget) {
        if let Some(file) = self.file.take()
            && matches!(file, Far::Pipe(_))
        {
            poller.remove(&file);
        }
        if let Some(grant) = self.grant.take() {
            budget.forget(grant);
        }
    }

    /// After the exit: whether a holder has had its grace at `now`. Then it is cut behind what is in the pipe.
    pub fn is_overheld(&mut self, now: Time, held_up: bool, grace: Duration) -> bool {
        let Some(file) = self.file.as_ref().filter(|_| matches!(self.cut, Cut::Never)) else { return false };
        if matches!(file, Far::Terminal(_)) {
            self.cut = Cut::WhenDrained;
            return true;
        }
        let waiting_in_pipe = rustix::io::ioctl_fionread(file).unwrap_or(0);
        let over = self.grace.advance(now, &Observation { read: self.read, waiting_in_pipe, held_up }, grace);
        if over {
            self.cut = Cut::At(self.read + waiting_in_pipe);
        }
        over
    }

    /// When [`Output::is_overheld`] may become true.
    pub fn wakes(&self, grace: Duration) -> Option<Time> {
        let grace = self.grace.expires(grace).filter(|_| self.file.is_some() && matches!(self.cut, Cut::Never));
        let spill = self.spill.as_ref().and_then(Spill::wakes);
        grace.into_iter().chain(spill).min()
    }

    /// Whether there is nothing to tell of it, now or later, while its command runs.
    pub fn is_quiet(&self) -> bool {
        self.news.is_none() && self.spill.as_ref().and_then(Spill::wakes).is_none()
    }

    /// Gives the memory of a larger pipe back that was idle since `before`.
    pub fn shrink_if_idle(&mut self, before: Time, budget: &mut Budget) {
        if self.read_at < before
            && let Some(Far::Pipe(pipe)) = &self.file
            && let Some(grant) = self.grant.take()
        {
            self.grant = budget.shrink(pipe, grant);
        }
    }
}

/// Appends at most `room` bytes; 0 at the end.
fn read(file: &Far, room: usize, out: &mut Vec<u8>) -> Result<usize, Errno> {
    out.reserve(room);
    let length = out.len();
    let spare: &mut [MaybeUninit<u8>] = &mut out.spare_capacity_mut()[..room];
    let count = rustix::io::retry_on_intr(|| rustix::io::read(file, &mut *spare).map(|(bytes, _)| bytes.len()))?;
    // SAFETY: the kernel initialised `count` bytes of the spare capacity, which begins at `length`.
    unsafe { out.set_len(length + count) };
    Ok(count)
}
