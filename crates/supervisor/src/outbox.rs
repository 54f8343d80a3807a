//! One message on its way out.

use std::io::IoSlice;
use std::os::fd::AsFd;

use protocol::Message;
use rustix::io::Errno;
use rustix::pipe::{IoSliceRaw, SpliceFlags, vmsplice};

/// From this size on the pages of a body are given to the pipe instead of copies of them.
const GIVEN: usize = 64 * 1024;

/// A message of which a part may have been written.
pub struct Outbox {
    message: Option<Message>,
    written: usize,
    /// Whether it goes into a pipe, as far as is known.
    gives: bool,
}

impl Default for Outbox {
    fn default() -> Self {
        Self { message: None, written: 0, gives: true }
    }
}

/// What came of writing.
#[derive(Debug, PartialEq, Eq)]
pub enum Flush {
    /// Everything is out.
    Empty,
    /// There is no room now.
    Blocked,
    /// Nobody reads any more.
    Broken,
}

impl Outbox {
    /// Takes the next message; the last one must be out.
    pub fn put(&mut self, message: Message) {
        self.message = Some(message);
        self.written = 0;
    }

    /// Whether everything is out.
    pub fn is_empty(&self) -> bool {
        self.message.is_none()
    }

    /// Writes as much as there is room for. A large body is not copied: what it holds stays what it is until the host has acknowledged it,
    /// which is after the daemon has read it; and the memory of one that went on several connections is not filled again.
    pub fn flush(&mut self, output: impl AsFd) -> Flush {
        let Some(message) = &self.message else { return Flush::Empty };
        while self.written < message.len() {
            let head = message.head.get(self.written..).unwrap_or_default();
            let body = &message.body[self.written.saturating_sub(message.head.len())..];
            let (outcome, asked) = if self.gives && body.len() >= GIVEN {
                if head.is_empty() {
                    (give(&output, body), body.len())
                } else {
                    (rustix::io::write(&output, head), head.len())
                }
            } else {
                let outcome = rustix::io::writev(&output, &[IoSlice::new(head), IoSlice::new(body)]);
                (outcome, head.len() + body.len())
            };
            match outcome {
                Ok(count) => {
                    self.written += count;
                    // Fewer than there were: no need to hear that there is no room for more.
                    if count < asked {
                        return Flush::Blocked;
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Flush::Blocked,
                // No pipe, or a kernel that does not know or allow it. A pipe without a reader says so the other way, too.
                Err(_) if self.gives => self.gives = false,
                Err(_) => return Flush::Broken,
            }
        }
        self.message = None;
        Flush::Empty
    }
}

/// Lets a pipe refer to the pages of `bytes`.
fn give(output: impl AsFd, bytes: &[u8]) -> rustix::io::Result<usize> {
    // SAFETY: reading is all that the pipe does with the pages; they live as long as it refers to them.
    unsafe { vmsplice(output, &[IoSliceRaw::from_slice(bytes)], SpliceFlags::NONBLOCK) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;

    #[test]
    fn a_message_larger_than_the_pipe_goes_in_parts_and_a_closed_pipe_is_broken() {
        let (read, write) = process::pipe::pair().unwrap();
        process::stdio::set_nonblocking(&write).unwrap();
        let body: Vec<u8> = (0..200_000u32).map(|number| number.to_le_bytes()[0]).collect();
        let mut outbox = Outbox::default();
        outbox.put(Message { head: vec![9; 70_000], body: body.clone().into() });
        let mut got = Vec::new();
        loop {
            let flush = outbox.flush(&write);
            let mut buffer = vec![0; 50_000];
            let count = rustix::io::read(&read, &mut buffer).unwrap();
            got.extend_from_slice(&buffer[..count]);
            if flush == Flush::Empty && got.len() == 270_000 {
                break;
            }
        }
        assert_eq!(got[..70_000], [9; 70_000]);
        assert_eq!(got[70_000..], body);
        drop(read);
        outbox.put(Message { head: vec![1], body: Vec::new().into() });
        assert_eq!(outbox.flush(&write), Flush::Broken);
    }

    #[test]
    fn what_is_no_pipe_gets_copies() {
        let (near, far) = std::os::unix::net::UnixStream::pair().unwrap();
        let body: Vec<u8> = (0..2 * GIVEN).map(|number| number.to_le_bytes()[0]).collect();
        let mut outbox = Outbox::default();
        outbox.put(Message { head: vec![9; 10], body: body.clone().into() });
        assert_eq!(outbox.flush(&near), Flush::Empty);
        let mut got = vec![0; 10 + body.len()];
        std::io::Read::read_exact(&mut &far, &mut got).unwrap();
        assert_eq!(got[10..], body);
    }
}
