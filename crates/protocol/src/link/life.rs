//! Heartbeats, silence, and acknowledgements that are due.

use std::time::Duration;

use super::{Event, Link, Role, State};
use crate::time::Time;

/// The longest time that one tick counts as silence: a machine that slept, or a paused sandbox, was not silent.
const TICK: Duration = Duration::from_secs(5);

/// After this long without a numbered frame either way, memory that is kept to be used again is given back.
const QUIET: Duration = Duration::from_secs(1);

impl Link {
    /// When [`Link::handle_timeout`] wants to be called; `None` while there is no connection.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        if self.state == State::Detached || self.silent {
            return None;
        }
        let silence = Duration::from_millis(self.timing.silence_ms.into());
        let tick = self.ticked + TICK.min(silence.saturating_sub(self.silence));
        let ping = self.pings().then(|| self.pinged + Duration::from_millis(self.timing.heartbeat_ms.into()));
        let quiet = self.used.map(|used| used + QUIET);
        [Some(tick), ping, self.ack.due, quiet].into_iter().flatten().min()
    }

    /// The time is `now`.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.state == State::Detached {
            return;
        }
        if self.used.is_some_and(|used| used + QUIET <= now) {
            self.used = None;
            self.give_back();
        }
        if self.ack.due.is_some_and(|due| due <= now) {
            self.ack.now = true;
            self.ack.due = None;
        }
        if self.pings() && now.since(self.pinged) >= Duration::from_millis(self.timing.heartbeat_ms.into()) {
            self.pinged = now;
            self.ping = Some(now.0);
        }
        self.silence += now.since(self.ticked).min(TICK);
        self.ticked = now;
        if !self.silent && self.silence >= Duration::from_millis(self.timing.silence_ms.into()) {
            self.silent = true;
            self.events.push_back(Event::Silent);
        }
    }

    /// Gives memory back that is kept to be used again.
    pub(super) fn give_back(&mut self) {
        self.flight.drop_buffers();
        self.packer.drop_buffer();
        self.decoder.drop_buffer();
        self.scratch = Vec::new();
    }

    fn pings(&self) -> bool {
        self.state == State::Attached && matches!(self.role, Role::Host { .. })
    }

    pub(super) fn heard(&mut self, now: Time) {
        self.ticked = now;
        self.silence = Duration::ZERO;
        self.silent = false;
    }
}
