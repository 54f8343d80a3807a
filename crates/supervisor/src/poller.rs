//! What the event loop waits for.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};

/// Most events taken at once.
const BATCH: usize = 256;

/// What an event is about. The number is a command's, a connection's, or a process' id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token {
    /// A joiner connects.
    Door,
    /// A child ended.
    Signals,
    /// The disk thread has done something.
    Disk,
    /// A joiner's socket.
    Joiner(u32),
    /// The host's bytes.
    Input(u32),
    /// Room for bytes to the host.
    Output(u32),
    /// A process was prepared.
    Forker,
    /// A prepared process died.
    Prepared(u32),
    /// News of a start.
    Report(u32),
    /// A command's own process ended.
    Leader(u32),
    /// The watched member of a session ended.
    Member(u32),
    /// Room in a command's standard input, or nobody reads it.
    Stdin(u32),
    /// Output, or a terminal.
    Stdout(u32),
    /// Output.
    Stderr(u32),
}

impl Token {
    fn pack(self) -> u64 {
        let (kind, number) = match self {
            Self::Door => (0, 0),
            Self::Signals => (1, 0),
            Self::Disk => (2, 0),
            Self::Joiner(number) => (3, number),
            Self::Input(number) => (4, number),
            Self::Output(number) => (5, number),
            Self::Prepared(number) => (6, number),
            Self::Report(number) => (7, number),
            Self::Leader(number) => (8, number),
            Self::Member(number) => (9, number),
            Self::Stdin(number) => (10, number),
            Self::Stdout(number) => (11, number),
            Self::Stderr(number) => (12, number),
            Self::Forker => (13, 0),
        };
        (kind << 32) | u64::from(number)
    }

    fn unpack(packed: u64) -> Option<Self> {
        let number = u32::try_from(packed & u64::from(u32::MAX)).ok()?;
        Some(match packed >> 32 {
            0 => Self::Door,
            1 => Self::Signals,
            2 => Self::Disk,
            3 => Self::Joiner(number),
            4 => Self::Input(number),
            5 => Self::Output(number),
            6 => Self::Prepared(number),
            7 => Self::Report(number),
            8 => Self::Leader(number),
            9 => Self::Member(number),
            10 => Self::Stdin(number),
            11 => Self::Stdout(number),
            12 => Self::Stderr(number),
            13 => Self::Forker,
            _ => return None,
        })
    }
}

/// When to tell of a descriptor.
#[derive(Clone, Copy, Debug)]
pub enum Interest {
    /// As long as there is something to read.
    Readable,
    /// Whenever something new can be read: what is not read then stays where it is without waking us.
    NewlyReadable,
    /// Whenever there is room again.
    NewlyWritable,
    /// Both of the last two.
    Newly,
}

/// An epoll instance.
pub struct Poller {
    epoll: OwnedFd,
}

impl Poller {
    /// A new one.
    pub fn new() -> io::Result<Self> {
        Ok(Self { epoll: epoll::create(CreateFlags::CLOEXEC)? })
    }

    /// Starts to watch; `EPERM` for what cannot be waited for, such as a file.
    pub fn add(&self, descriptor: impl AsFd, token: Token, interest: Interest) -> io::Result<()> {
        let flags = match interest {
            Interest::Readable => EventFlags::IN,
            Interest::NewlyReadable => EventFlags::IN | EventFlags::ET,
            Interest::NewlyWritable => EventFlags::OUT | EventFlags::ET,
            Interest::Newly => EventFlags::IN | EventFlags::OUT | EventFlags::ET,
        };
        Ok(epoll::add(&self.epoll, descriptor, EventData::new_u64(token.pack()), flags)?)
    }

    /// Stops to watch. To be called before the descriptor is closed: a copy in a child may keep it alive.
    pub fn remove(&self, descriptor: impl AsFd) {
        // Not watched is as good.
        let _ = epoll::delete(&self.epoll, descriptor);
    }

    /// Waits for events, at most for `limit`, and puts what they are about into `tokens`.
    pub fn wait(&self, limit: Option<Duration>, tokens: &mut Vec<Token>) {
        let limit = limit.map(|limit| Timespec {
            tv_sec: i64::try_from(limit.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: limit.subsec_nanos().into(),
        });
        let mut events: Vec<Event> = Vec::with_capacity(BATCH);
        // Interrupted is a wait without events.
        let _ = epoll::wait(&self.epoll, spare_capacity(&mut events), limit.as_ref());
        tokens.extend(events.iter().filter_map(|event| Token::unpack(event.data.u64())));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;

    #[test]
    fn tokens_survive_packing() {
        for token in [Token::Door, Token::Disk, Token::Stdin(u32::MAX), Token::Stderr(7), Token::Prepared(1)] {
            assert_eq!(Token::unpack(token.pack()), Some(token));
        }
        assert_eq!(Token::unpack(99 << 32), None);
    }

    #[test]
    fn an_unread_pipe_wakes_once_until_more_comes() {
        let (read, write) = process::pipe::pair().unwrap();
        let poller = Poller::new().unwrap();
        poller.add(&read, Token::Stdout(3), Interest::NewlyReadable).unwrap();
        let events = || {
            let mut tokens = Vec::new();
            poller.wait(Some(Duration::ZERO), &mut tokens);
            tokens
        };
        rustix::io::write(&write, b"x").unwrap();
        assert_eq!((events(), events()), (vec![Token::Stdout(3)], vec![]));
        rustix::io::write(&write, b"y").unwrap();
        assert_eq!(events(), [Token::Stdout(3)]);
        drop(write);
        assert_eq!(events(), [Token::Stdout(3)]);
    }
}
