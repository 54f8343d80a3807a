//! Readers in JavaScript that are to be woken. A wake costs more than a piece of output does, so what comes in one burst is told
//! together.

use std::sync::Arc;

use protocol::control::OutputChannel;

use crate::session::command::Command;

/// As much as one read takes: waiting for more would only keep a reader idle.
const ENOUGH: usize = 256 * 1024;

/// See the module.
#[derive(Debug, Default)]
pub struct News {
    readers: Vec<(Arc<Command>, OutputChannel)>,
    bytes: usize,
}

impl News {
    /// So many bytes came; `waits` says that their reader does not know of any.
    pub fn add(&mut self, command: &Arc<Command>, channel: OutputChannel, bytes: usize, waits: bool) {
        if waits {
            self.readers.push((Arc::clone(command), channel));
        }
        if !self.readers.is_empty() {
            self.bytes += bytes;
        }
    }

    /// Whether there is nothing to tell, or too much to keep it.
    pub fn is_due(&self) -> bool {
        self.readers.is_empty() || self.bytes >= ENOUGH
    }

    /// Wakes the readers.
    pub fn tell(&mut self) {
        self.bytes = 0;
        for (command, channel) in self.readers.drain(..) {
            command.announce(channel);
        }
    }
}
