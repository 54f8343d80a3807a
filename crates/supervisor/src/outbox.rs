//! One message on its way out.

use std::io::IoSlice;
use std::os::fd::AsFd;

use protocol::Message;
use rustix::io::Errno;

/// A message of which a part may have been written.
#[derive(Default)]
pub struct Outbox {
    message: Option<Message>,
    written: usize,
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

    /// Writes as much as there is room for.
    pub fn flush(&mut self, output: impl AsFd) -> Flush {
        let Some(message) = &self.message else { return Flush::Empty };
        while self.written < message.len() {
            let head = message.head.get(self.written..).unwrap_or_default();
            let body = &message.body[self.written.saturating_sub(message.head.len())..];
            match rustix::io::writev(&output, &[IoSlice::new(head), IoSlice::new(body)]) {
                Ok(count) => {
                    self.written += count;
                    // Fewer than there were: no need to hear that there is no room for more.
                    if count < head.len() + body.len() {
                        return Flush::Blocked;
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Flush::Blocked,
                Err(_) => return Flush::Broken,
            }
        }
        self.message = None;
        Flush::Empty
    }
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
}
