//! One turn after another.

use std::time::Duration;

use protocol::control::FromSupervisor;
use protocol::{Channel, Event, Time};

use crate::clock;
use crate::command::output::Context;
use crate::command::streams::Outputs;
use crate::lost::Pursuit;
use crate::outbox::Flush;
use crate::poller::Token;
use crate::worker::Worker;

/// Messages to the host in one turn; then what came meanwhile is looked at.
const MESSAGES: usize = 8;

impl Worker {
    /// Serves until the end is over.
    pub fn serve(&mut self) {
        let mut tokens = Vec::new();
        while !self.ending.as_ref().is_some_and(crate::ending::Ending::is_over) && !self.bereaved {
            // 1. Wait for something to happen or to be due.
            self.poller.wait(self.wait_limit(), &mut tokens);
            self.now = clock::now();
            self.again = false;
            // 2. What happened.
            for token in tokens.drain(..) {
                self.dispatch(token);
            }
            // 3. What is due.
            self.attend();
            // 4. Who has ended.
            if std::mem::take(&mut self.look) {
                self.look_for_ends();
            }
            // 5. What the host is to hear, with as much output as it takes.
            self.transmit();
            self.tend_outputs();
            self.forget_finished();
            self.commands.settle();
            // 6. What can wait until the host has heard.
            self.refill_pool();
            self.pursue_lost();
            self.advance_ending();
        }
    }

    fn dispatch(&mut self, token: Token) {
        match token {
            Token::Door => self.on_door(),
            Token::Signals => self.on_signals(),
            Token::Disk => self.on_disk(),
            Token::Joiner(number) => self.on_joiner(number),
            Token::Input(number) => self.on_input(number),
            // The next transmission uses it.
            Token::Output(number) => self.on_room(number),
            Token::Forker => self.pool.welcome(self.now, &self.poller),
            Token::Prepared(pid) => self.pool.died(pid, self.now, &self.poller),
            Token::Report(id) => self.on_report(id),
            Token::Leader(id) => self.on_leader(id),
            Token::Member(id) => self.on_member(id),
            Token::Stdin(id) => self.flush_stdin(id),
            Token::Stdout(id) => self.on_output(id, Channel::Stdout),
            Token::Stderr(id) => self.on_output(id, Channel::Stderr),
        }
    }

    fn on_signals(&mut self) {
        let mut information = [0u8; 128];
        while rustix::io::read(&self.signals, &mut information).is_ok() {}
        self.look = true;
        // Whoever else sent SIGCONT says nothing.
        self.bereaved = self.is_bereaved();
    }

    fn attend(&mut self) {
        if self.link.poll_timeout().is_some_and(|due| due <= self.now) {
            self.link.handle_timeout(self.now);
            self.on_link_events();
        }
        self.climb_ladders();
        self.look_for_leavers();
        self.look |= self.look_at.is_some_and(|at| at <= self.now);
        self.dismiss_silent_guests();
        self.look_at_door();
        let limit = self.orphan_limit();
        if self.silence.advance(self.now, self.door.is_attached(), limit) {
            self.shut_down();
        }
    }

    /// What the link has to tell.
    pub fn on_link_events(&mut self) {
        while let Some(event) = self.link.poll_event() {
            match event {
                Event::Control { command, message } => self.on_control(command, &message),
                Event::Data { stream, bytes } => self.on_data(stream, bytes),
                Event::End { stream, .. } => self.on_end(stream),
                Event::Silent => self.drop_host(),
                Event::Attached | Event::Ready { .. } | Event::OtherEpoch { .. } | Event::Refused(_) => {}
            }
        }
    }

    fn transmit(&mut self) {
        for _ in 0..MESSAGES {
            let Some(connection) = self.door.attached() else { return };
            if connection.outbox.is_empty() {
                let context =
                    Context { disk: &mut self.disk, budget: &mut self.budget, poller: &self.poller, now: self.now };
                let mut outputs = Outputs { commands: &mut self.commands, context };
                match self.link.poll_transmit(self.now, &mut outputs) {
                    Some(message) => connection.outbox.put(message),
                    None => return self.forget_delivered(),
                }
            }
            match connection.flush(self.now) {
                Flush::Empty => {}
                Flush::Blocked => return,
                Flush::Broken => return self.drop_host(),
            }
        }
        self.again = true;
    }

    fn refill_pool(&mut self) {
        self.door.restock();
        if self.ending.is_some() {
            return;
        }
        if self.door.is_stocked() {
            self.pool.refill(self.now);
        }
        if self.door.is_attached() {
            let pids = self.pool.announce();
            self.tell_prepared(pids);
        }
    }

    /// Tells the host which processes wait for commands.
    pub fn tell_prepared(&mut self, pids: Vec<u32>) {
        if !pids.is_empty() {
            self.link.send(0, &FromSupervisor::Prepared { pids });
            self.again = true;
        }
    }

    /// How long nothing is due.
    fn wait_limit(&self) -> Option<Duration> {
        if self.again || self.look {
            return Some(Duration::ZERO);
        }
        let stirred = || self.commands.stirred().map(|(_, command)| command);
        let ladders = stirred().filter(|command| !command.is_gone()).filter_map(|command| command.ladder.wakes());
        let outputs = stirred()
            .flat_map(|command| command.outputs.iter().flatten().filter_map(|output| output.wakes(command.grace)));
        let members = stirred().filter_map(|command| Some(command.member.as_ref()?.wakes()));
        let silence = (!self.door.is_attached()).then(|| self.silence.wakes(self.orphan_limit())).flatten();
        let shrink = (self.budget.spent() > 0).then_some(self.shrink_at);
        let pool = (self.ending.is_none() && self.door.is_stocked()).then(|| self.pool.wakes()).flatten();
        let others = [
            self.link.poll_timeout(),
            self.look_at,
            self.door.wakes(),
            self.door.room_at(),
            silence,
            shrink,
            pool,
            self.ending.as_ref().and_then(|e| e.wakes()),
            self.lost.as_ref().map(Pursuit::wakes),
        ];
        let next: Option<Time> = others.into_iter().flatten().chain(ladders).chain(outputs).chain(members).min();
        next.map(|next| next.since(clock::now()))
    }
}
