//! What goes into a command: its standard input, or what is typed at its terminal.

use std::collections::VecDeque;

use bytes::Bytes;
use rustix::io::Errno;

use super::output::Far;
use crate::poller::Poller;

/// Pieces smaller than this are copied out of their message.
const SMALL: usize = 16 * 1024;

/// Input on its way.
#[derive(Default)]
pub struct Input {
    file: Option<Far>,
    queue: VecDeque<Bytes>,
    ends: bool,
}

/// What came of writing.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Flushed {
    /// Bytes that the pipe took.
    pub taken: u64,
    /// Whether the program reads no more.
    pub broken: bool,
}

impl Input {
    /// An input that goes to `file`, or, without one, nowhere.
    pub fn new(file: Option<Far>) -> Self {
        Self { file, queue: VecDeque::new(), ends: false }
    }

    /// Where it goes, while it is open.
    pub fn file(&self) -> Option<&Far> {
        self.file.as_ref()
    }

    /// Takes bytes from the host. False when they are lost, since it is closed.
    pub fn push(&mut self, bytes: Bytes) -> bool {
        if self.file.is_some() {
            // A few bytes that nobody reads would keep the whole message that they came in.
            let bytes = if bytes.len() < SMALL { Bytes::copy_from_slice(&bytes) } else { bytes };
            self.queue.push_back(bytes);
        }
        self.file.is_some()
    }

    /// Nothing follows: closed once everything is written. A terminal stays open; it knows no end of input.
    pub fn end(&mut self) {
        self.ends = true;
    }

    /// Writes as much as there is room for.
    pub fn flush(&mut self, poller: &Poller) -> Flushed {
        let mut flushed = Flushed::default();
        let Some(file) = &self.file else { return flushed };
        while let Some(bytes) = self.queue.front_mut() {
            match rustix::io::write(file, bytes) {
                Ok(count) => {
                    flushed.taken += count as u64;
                    let _ = bytes.split_to(count);
                    if bytes.is_empty() {
                        self.queue.pop_front();
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return flushed,
                Err(_) => {
                    flushed.broken = true;
                    self.close(poller);
                    return flushed;
                }
            }
        }
        if self.ends && matches!(file, Far::Pipe(_)) {
            self.close(poller);
        }
        flushed
    }

    /// Whether nobody can read what would be written: the pipe's other end is closed everywhere.
    pub fn is_abandoned(&self) -> bool {
        let Some(Far::Pipe(pipe)) = &self.file else { return false };
        let mut set = [rustix::event::PollFd::new(pipe, rustix::event::PollFlags::empty())];
        let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
        rustix::event::poll(&mut set, Some(&now)).is_ok() && set[0].revents().contains(rustix::event::PollFlags::ERR)
    }

    /// Closes it; what is queued is lost.
    pub fn close(&mut self, poller: &Poller) {
        self.queue = VecDeque::new();
        if let Some(file @ Far::Pipe(_)) = self.file.take() {
            poller.remove(&file);
        }
    }
}
