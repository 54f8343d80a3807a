//! How hosts come and go: joiners at the door, hellos, the one attached connection.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::time::Duration;

use bytes::Bytes;
use protocol::handshake::{Hello, Refusal};
use protocol::link::{read_hello, ready_message, refusal_message};
use protocol::{Message, Time};
use rustix::io::Errno;
use rustix::net::SocketFlags;

use crate::connection::{Connection, Read};
use crate::poller::{Interest, Poller, Token};
use crate::socket::{self, HANDED};
use crate::worker::Worker;

/// Connections at once that have not said hello; more are turned away.
const MOST_GUESTS: usize = 64;
/// How long a connection may take to say hello.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long the door is not looked at when there are no descriptors for guests.
const AWAY: Duration = Duration::from_millis(200);
/// Descriptors that are kept for joiners, each of which takes one and then [`HANDED`] more: a host must be able to come again however many
/// its commands have.
const RESERVE: usize = 8;
/// Reads from one host in a row, before others have their turn.
const READS: usize = 8;

/// Everything about connections.
pub struct Door {
    listener: OwnedFd,
    /// Joiners that have not sent their streams.
    joiners: HashMap<u32, OwnedFd>,
    connections: HashMap<u32, Connection>,
    environments: HashMap<u32, OwnedFd>,
    attached: Option<u32>,
    reserve: Vec<OwnedFd>,
    away_until: Option<Time>,
    count: u32,
    scratch: Vec<u8>,
}

impl Door {
    /// Opens the door: from now on joiners are let in.
    pub fn open(listener: OwnedFd, poller: &Poller) -> std::io::Result<Self> {
        process::stdio::set_nonblocking(&listener)?;
        poller.add(&listener, Token::Door, Interest::Readable)?;
        let mut door = Self {
            listener,
            joiners: HashMap::new(),
            connections: HashMap::new(),
            environments: HashMap::new(),
            attached: None,
            reserve: Vec::new(),
            away_until: None,
            count: 0,
            scratch: Vec::new(),
        };
        door.restock();
        Ok(door)
    }

    /// Lays descriptors by for joiners, as far as there are any. They are given back just before each is needed: whatever else happens
    /// meanwhile would take them.
    pub fn restock(&mut self) {
        while self.reserve.len() < RESERVE {
            match rustix::io::fcntl_dupfd_cloexec(&self.listener, 3) {
                Ok(descriptor) => self.reserve.push(descriptor),
                Err(_) => return,
            }
        }
    }

    /// Whether there are descriptors for joiners, so that what can wait may take others.
    pub fn is_stocked(&self) -> bool {
        self.reserve.len() == RESERVE
    }

    fn make_room(&mut self, descriptors: usize) {
        self.reserve.truncate(self.reserve.len().saturating_sub(descriptors));
    }

    /// Lets nobody in any more.
    pub fn shut(&self, poller: &Poller) {
        poller.remove(&self.listener);
    }

    /// When it is to be looked at again.
    pub fn wakes(&self) -> Option<Time> {
        self.away_until
    }

    /// When the connection to the host has more room.
    pub fn room_at(&self) -> Option<Time> {
        self.connections.get(&self.attached?)?.wakes()
    }

    /// The connection to the host.
    pub fn attached(&mut self) -> Option<&mut Connection> {
        self.connections.get_mut(&self.attached?)
    }

    /// Whether a host is there.
    pub fn is_attached(&self) -> bool {
        self.attached.is_some()
    }

    fn drop_connection(&mut self, number: u32, poller: &Poller) {
        self.joiners.remove(&number);
        self.environments.remove(&number);
        if let Some(connection) = self.connections.remove(&number) {
            connection.close(poller);
        }
        if self.attached == Some(number) {
            self.attached = None;
        }
    }
}

impl Worker {
    /// Joiners connect.
    pub fn on_door(&mut self) {
        self.let_in();
        self.door.restock();
    }

    fn let_in(&mut self) {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        loop {
            self.door.make_room(1);
            let joiner = match rustix::net::accept_with(&self.door.listener, flags) {
                Ok(joiner) => joiner,
                Err(Errno::AGAIN | Errno::CONNABORTED | Errno::INTR) => return,
                // No descriptor left. The door stays readable: look away, or this would be all that is done.
                Err(_) => return self.look_away(),
            };
            let guests = self.door.joiners.len() + self.door.connections.len();
            if guests >= MOST_GUESTS || !socket::is_same_user(&joiner) {
                continue;
            }
            self.door.count += 1;
            let number = self.door.count;
            if self.poller.add(&joiner, Token::Joiner(number), Interest::Readable).is_ok() {
                self.door.joiners.insert(number, joiner);
            }
        }
    }

    fn look_away(&mut self) {
        self.door.shut(&self.poller);
        self.door.away_until = Some(self.now + AWAY);
    }

    /// Looks at the door again after a while.
    pub fn look_at_door(&mut self) {
        if self.ending.is_none() && self.door.away_until.is_some_and(|until| until <= self.now) {
            self.door.away_until = None;
            let _ = self.poller.add(&self.door.listener, Token::Door, Interest::Readable);
        }
    }

    /// A joiner has sent its streams, or has gone.
    pub fn on_joiner(&mut self, number: u32) {
        self.door.make_room(HANDED);
        self.take_streams(number);
        self.door.restock();
    }

    fn take_streams(&mut self, number: u32) {
        let Some(joiner) = self.door.joiners.get(&number) else { return self.disconnect(number) };
        match socket::receive(joiner) {
            Ok([input, output, environment]) => {
                let Some(joiner) = self.door.joiners.remove(&number) else { return };
                let ready = ready_message(self.link.epoch(), &self.keys);
                let streams = [input, output];
                if let Ok(mut connection) = Connection::open(number, joiner, streams, self.now, ready, &self.poller) {
                    connection.flush(self.now);
                    self.door.connections.insert(number, connection);
                    self.door.environments.insert(number, environment);
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => self.disconnect(number),
        }
    }

    /// The host has sent something.
    pub fn on_input(&mut self, number: u32) {
        for _ in 0..READS {
            let Some(connection) = self.door.connections.get(&number) else { return };
            match connection.read(&mut self.door.scratch) {
                Read::Bytes(bytes) => self.on_bytes(number, bytes),
                Read::Blocked => return,
                Read::Ended => return self.disconnect(number),
            }
        }
    }

    fn on_bytes(&mut self, number: u32, bytes: Bytes) {
        let Some(connection) = self.door.connections.get_mut(&number) else { return };
        let Some(decoder) = &mut connection.greeting else { return self.take_bytes(bytes) };
        decoder.push(bytes);
        match read_hello(decoder, &self.keys) {
            Ok(None) => {}
            Ok(Some(hello)) => self.on_hello(number, &hello),
            Err(_) => self.disconnect(number),
        }
    }

    fn on_hello(&mut self, number: u32, hello: &Hello) {
        let Some(connection) = self.door.connections.get_mut(&number) else { return };
        let Some(decoder) = connection.greeting.take() else { return };
        if let Err(refusal) = self.link.accept(self.now, hello, decoder) {
            return self.refuse_host(number, &refusal);
        }
        if let Some(before) = self.door.attached.replace(number) {
            // Abandoned for good: what it had not delivered is sent again here.
            self.door.drop_connection(before, &self.poller);
        }
        if let Some(environment) = self.door.environments.remove(&number) {
            self.ambient.replace(environment);
        }
        self.adopt_settings(hello);
        self.take_bytes(Bytes::new());
    }

    fn refuse_host(&mut self, number: u32, refusal: &Refusal) {
        // Behind the greeting, or, if even that does not fit, not at all.
        if let Some(connection) =
            self.door.connections.get_mut(&number).filter(|connection| connection.outbox.is_empty())
        {
            let head = refusal_message(self.link.epoch(), refusal);
            connection.outbox.put(Message { head, body: Bytes::new() });
            connection.flush(self.now);
        }
        self.disconnect(number);
        if *refusal == Refusal::Sandbox {
            // A copy of a sandbox must not go on as the original.
            self.shut_down();
        }
    }

    /// There is room for bytes to a host.
    pub fn on_room(&mut self, number: u32) {
        if let Some(connection) = self.door.connections.get_mut(&number) {
            connection.has_room(self.now);
        }
    }

    /// Bytes of the attached host: control first does what it says, then the next frame is looked at.
    fn take_bytes(&mut self, bytes: Bytes) {
        self.link.feed(self.now, bytes);
        loop {
            let step = self.link.step(self.now);
            self.on_link_events();
            match step {
                Ok(true) => {}
                Ok(false) => return,
                Err(_) => return self.drop_host(),
            }
        }
    }

    /// Gives the attached connection up; the host comes again.
    pub fn drop_host(&mut self) {
        if let Some(number) = self.door.attached {
            self.disconnect(number);
        }
    }

    fn disconnect(&mut self, number: u32) {
        if self.door.attached == Some(number) {
            self.link.disconnect();
        }
        self.door.drop_connection(number, &self.poller);
    }

    /// Turns connections away that never said hello.
    pub fn dismiss_silent_guests(&mut self) {
        let now = self.now;
        let silent = |connection: &&Connection| connection.greeting.is_some() && now.since(connection.since) > PATIENCE;
        let silent: Vec<u32> =
            self.door.connections.values().filter(silent).map(|connection| connection.number).collect();
        for number in silent {
            self.disconnect(number);
        }
    }
}
