//! One connection to a host: the streams that a joiner brought.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use bytes::Bytes;
use protocol::decode::Decoder;
use protocol::{Message, Time};
use rustix::io::Errno;

use crate::outbox::{Flush, Outbox};
use crate::poller::{Interest, Poller, Token};
use crate::socket::TAKEN;

/// Bytes taken from the host at once.
const READ: usize = 256 * 1024;

/// The first room in a full large pipe is what one read of the daemon left. To fill each of these at once costs both ends more than
/// the copy does (measured: a third of a core a GiB); in this time even a fast reader does not empty half of the pipe.
const REST: Duration = Duration::from_micros(250);

/// A connection and where it stands.
pub struct Connection {
    /// Counts connections; never given twice.
    pub number: u32,
    /// When it began.
    pub since: Time,
    /// The host's bytes until its hello; `None` once it is attached.
    pub greeting: Option<Decoder>,
    /// What is on its way to the host.
    pub outbox: Outbox,
    joiner: OwnedFd,
    input: OwnedFd,
    output: OwnedFd,
    room: Room,
    rest: Duration,
}

/// Whether there is room for bytes to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    /// As far as is known.
    Some,
    /// None, until the poller says so.
    None,
    /// A little; more at this time.
    MoreAt(Time),
}

/// What a read brought.
pub enum Read {
    /// These bytes; there may be more.
    Bytes(Bytes),
    /// Nothing now.
    Blocked,
    /// The other end is closed, or cannot be read.
    Ended,
}

impl Connection {
    /// Takes over a joiner's streams and begins to watch them. `ready` is what is said first.
    pub fn open(
        number: u32,
        joiner: OwnedFd,
        [input, output]: [OwnedFd; 2],
        now: Time,
        ready: Vec<u8>,
        poller: &Poller,
    ) -> io::Result<Self> {
        for stream in [&input, &output] {
            process::stdio::set_nonblocking(stream)?;
            // Fuller pipes fill the daemon's reads. Refused where they are no pipes, or at the user's limit: that is fine.
            let _ = rustix::pipe::fcntl_setpipe_size(stream, process::pipe::LARGE);
        }
        let is_large = process::pipe::capacity(&output).is_ok_and(|capacity| capacity >= process::pipe::LARGE);
        poller.add(&input, Token::Input(number), Interest::Readable)?;
        match poller.add(&output, Token::Output(number), Interest::NewlyWritable) {
            // A file or the null device: always writable.
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => {}
            result => result?,
        }
        let mut outbox = Outbox::default();
        outbox.put(Message { head: ready, body: Bytes::new() });
        rustix::io::write(&joiner, &[TAKEN])?;
        Ok(Self {
            number,
            since: now,
            greeting: Some(Decoder::default()),
            outbox,
            joiner,
            input,
            output,
            room: Room::Some,
            rest: if is_large { REST } else { Duration::ZERO },
        })
    }

    /// Reads what the host sent, up to a bound.
    pub fn read(&self, scratch: &mut Vec<u8>) -> Read {
        scratch.clear();
        scratch.reserve(READ);
        let room: &mut [MaybeUninit<u8>] = &mut scratch.spare_capacity_mut()[..READ];
        match rustix::io::read(&self.input, room) {
            Ok(([], _)) => Read::Ended,
            Ok((bytes, _)) => Read::Bytes(Bytes::copy_from_slice(bytes)),
            // No signal interrupts: all are blocked.
            Err(Errno::AGAIN) => Read::Blocked,
            Err(_) => Read::Ended,
        }
    }

    /// Writes what is on its way, unless it is better to wait for more room.
    pub fn flush(&mut self, now: Time) -> Flush {
        match self.room {
            Room::Some => {}
            Room::MoreAt(time) if time <= now => {}
            Room::None | Room::MoreAt(_) => return Flush::Blocked,
        }
        let flush = self.outbox.flush(&self.output);
        self.room = if flush == Flush::Blocked { Room::None } else { Room::Some };
        flush
    }

    /// The poller says that there is room.
    pub fn has_room(&mut self, now: Time) {
        if self.room == Room::None {
            self.room = Room::MoreAt(now + self.rest);
        }
    }

    /// When there will be room to write more of what is on its way, if that is known.
    pub fn wakes(&self) -> Option<Time> {
        match self.room {
            Room::MoreAt(time) => Some(time),
            Room::Some | Room::None => None,
        }
    }

    /// Lets the streams and the joiner go.
    pub fn close(self, poller: &Poller) {
        poller.remove(self.input.as_fd());
        poller.remove(self.output.as_fd());
        poller.remove(self.joiner.as_fd());
    }
}
