//! The life of the connection.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use protocol::{
    CommandId, Link, Time,
    control::{Exit, ToSupervisor},
};

use super::{
    Driver, Over,
    absence::{ATTEMPTS, Absence},
    active::Active,
    host,
    line::{Line, Open},
    ops::Inputs,
    timing,
};
use crate::session::{
    connector::{Connection, JoinFailure, SandboxState},
    failure::Failure,
};

/// How long the supervisor's answer to the hello may take, beyond two round trips, before the other way up is taken.
pub(super) const FALL_BACK_AFTER: Duration = Duration::from_secs(1);

impl Driver {
    /// Gives the connection what there is to say.
    pub(super) fn transmit(&mut self) {
        loop {
            let Line::Open(open) = &mut self.line else { return };
            if !open.is_free() {
                return;
            }
            let Some(message) = self.link.poll_transmit(self.clock.now(), &mut Inputs(&self.commands)) else { return };
            if let Some(Err(reason)) = open.send(message.to_bytes(), self.unary) {
                return self.way_up_lost(reason);
            }
        }
    }

    pub(super) fn on_sent(&mut self, sent: Result<(), String>) {
        if let Line::Open(open) = &mut self.line {
            open.sent();
        }
        if let Err(reason) = sent {
            self.way_up_lost(reason);
        }
    }

    /// A daemon may not have the streaming way at all: then the other one is tried before anything is called broken.
    pub(super) fn way_up_lost(&mut self, reason: String) {
        let said_hello = matches!(&self.line, Line::Open(open) if open.fall_back_at.is_some());
        if said_hello && !self.unary {
            return self.fall_back(&reason);
        }
        self.broken(reason);
    }

    fn fall_back(&mut self, reason: &str) {
        tracing::info!(
            sandbox = self.parts.sandbox,
            reason,
            "no streaming input: each message goes in a request of its own"
        );
        self.unary = true;
        if let Line::Open(open) = &mut self.line {
            open.fall_back_at = None;
            open.leave_streaming();
        }
        self.link.hello_again(self.clock.now(), true, timing(&self.parts, true));
    }

    pub(super) fn tick_line(&mut self, now: Time) {
        match &mut self.line {
            Line::Idle { retry_at: Some(at) } if *at <= now => {
                self.line = Line::Joining {
                    attempt: self.parts.connector.join(),
                    since: now,
                    give_up_at: self.patience().map(|bound| now + bound),
                };
            }
            Line::Joining { give_up_at: Some(at), .. } if *at <= now => {
                self.broken("the attempt was not answered".to_owned())
            }
            Line::Open(open) if open.fall_back_at.is_some_and(|at| at <= now) => {
                self.fall_back("the hello was not answered")
            }
            _ => {}
        }
    }

    /// How long an attempt may take. The first one may have megabytes to bring, and bounds itself. Later on, one that falls silent is
    /// no better than a connection that does; after some that did, perhaps there is something to be brought again, and it gets more time.
    fn patience(&self) -> Option<Duration> {
        let attempts = self.absence.as_ref().map_or(0, Absence::attempts);
        let silence = Duration::from_millis(self.parts.settings.supervisor.timing.silence_ms.into());
        (self.link.epoch() != 0).then(|| silence.saturating_mul(1 << attempts.saturating_sub(ATTEMPTS - 1).min(16)))
    }

    pub(super) fn on_joined(&mut self, outcome: Result<Connection, JoinFailure>) {
        let now = self.clock.now();
        let since = match &self.line {
            Line::Joining { since, .. } => *since,
            _ => now,
        };
        match outcome {
            Ok(connection) => {
                let mut open = Open::new(connection, now.since(since));
                if self.unary {
                    // That the streaming way is not there is known: its end breaks nothing.
                    open.leave_streaming();
                }
                self.line = Line::Open(open);
                self.link.connect(now, self.unary);
            }
            Err(JoinFailure { message, is_final: true }) => self.finish(Over::Failed(Failure::Delivery(message))),
            Err(JoinFailure { message, is_final: false }) => self.broken(message),
        }
    }

    pub(super) fn on_heard(&mut self, heard: Result<Bytes, String>) {
        let bytes = match heard {
            Ok(bytes) => bytes,
            Err(reason) => return self.broken(reason),
        };
        if let Line::Open(open) = &mut self.line
            && let Some(greeting) = &mut open.greeting
        {
            greeting.push(bytes.clone());
        }
        self.hear(bytes);
    }

    fn hear(&mut self, bytes: Bytes) {
        let received = self.link.receive(self.clock.now(), bytes);
        self.on_events();
        if let Err(error) = received {
            self.broken(error.to_string());
        }
    }

    /// There is no connection any more: asks whether there is a sandbox, and tries again.
    pub(super) fn broken(&mut self, reason: String) {
        if self.leave(None) {
            return;
        }
        tracing::debug!(sandbox = self.parts.sandbox, reason, "no connection");
        let now = self.clock.now();
        let was_attached = self.link.is_attached() || self.absence.is_none();
        self.link.disconnect();
        self.unary = !self.streamed && self.unary_attached >= 2;
        let absence = self.absence.get_or_insert_with(|| Absence::new(now));
        let pause = if was_attached {
            absence.reason = reason;
            Duration::ZERO
        } else {
            absence.failed(reason)
        };
        self.line = Line::Idle { retry_at: Some(now + pause) };
        if self.checking.is_none() {
            self.checking = Some(self.parts.connector.state());
        }
    }

    pub(super) fn on_state(&mut self, state: SandboxState) {
        self.checking = None;
        match state {
            SandboxState::Gone => self.finish(Over::Gone),
            SandboxState::Paused | SandboxState::Running | SandboxState::Unknown => {
                if let Some(absence) = &mut self.absence {
                    absence.paused = state == SandboxState::Paused;
                }
            }
        }
    }

    pub(super) fn tick_absence(&mut self, now: Time) {
        let Some(absence) = &mut self.absence else { return };
        if absence.tick(now, self.parts.settings.lost_after) {
            let failure = Failure::Lost {
                sandbox: self.parts.sandbox.clone(),
                seconds: absence.counted().as_secs(),
                reason: absence.reason.clone(),
            };
            self.give_up(&failure);
        }
    }

    /// Another life of the supervisor answers: the former one was killed. What was said to it is lost, and this one is asked to end
    /// whatever is left of that (C35); what was never said to it is said to this one.
    pub(super) fn on_other_epoch(&mut self, epoch: u64) {
        tracing::info!(sandbox = self.parts.sandbox, epoch, "the supervisor was killed; another one is there");
        let now = self.clock.now();
        self.parts.pool.clear();
        let former = std::mem::replace(&mut self.link, Link::host(host(&self.parts, self.unary), now));
        let (heard, unheard): (Vec<CommandId>, Vec<CommandId>) =
            self.commands.keys().copied().partition(|id| former.was_sent(*id));
        self.lost.add_epoch(former.epoch());
        for id in heard {
            if let Some(active) = self.commands.remove(&id) {
                self.lost.add(id, active);
            }
        }
        for (_, request) in self.questions.drain() {
            request.answer(Err(Failure::Killed));
        }
        self.deadlines.clear();
        self.found.forget();
        self.end_lost();
        for id in unheard {
            if let Some(active) = self.commands.get_mut(&id) {
                active.command.forget_prepared();
                if let Some(start) = &mut active.start {
                    start.prepared = None;
                }
            }
            self.open(id);
        }
        for (id, (_, resolve)) in &self.lookups {
            self.link.send(*id, &ToSupervisor::Resolve(resolve.clone()));
        }
        if self.found.is_asked() {
            self.link.send(0, &ToSupervisor::ListRunning);
        }
        if !self.shutdown.is_empty() {
            self.link.send(0, &ToSupervisor::Shutdown);
        }
        self.greet(now);
    }

    /// The new link hears what the connection brought so far.
    fn greet(&mut self, now: Time) {
        let Line::Open(open) = &mut self.line else { return };
        let greeting = open.greeting.take().unwrap_or_default();
        self.link.connect(now, self.unary);
        for bytes in greeting {
            self.hear(bytes);
        }
    }
}

impl Driver {
    /// The commands that are under way, for the end of the session: whether each was sent, and its exit where that is known.
    pub(super) fn take_commands(&mut self) -> Vec<(bool, Arc<crate::session::command::Command>, Option<Exit>)> {
        let commands = std::mem::take(&mut self.commands);
        let lost = self.lost.take().map(|(command, exit)| (true, command, exit));
        let exit = |active: &Active| active.exit.map(|(exit, _)| exit);
        commands
            .into_iter()
            .map(|(id, active)| (self.link.was_sent(id), Arc::clone(&active.command), exit(&active)))
            .chain(lost)
            .collect()
    }
}
