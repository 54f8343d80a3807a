//! Both ends and the connection between them.

use std::{collections::VecDeque, sync::LazyLock, time::Duration};

use bytes::Bytes;

use super::ends::{Feed, Got, Random};
use crate::{
    decode::Decoder,
    handshake::{Settings, Timing},
    link::{Event, HostConfig, Link, SupervisorConfig, read_hello, ready_message},
    seal::Keys,
    time::Time,
    wire::{Channel, FLAG_PACKED, MAX_BODY, MESSAGE_HEADER, StreamId},
};

/// One direction of one connection: whole messages with the time when they arrive.
#[derive(Default)]
pub(super) struct Pipe {
    bytes: VecDeque<(Time, Bytes)>,
}

/// The keys of the host and of the supervisor. Made once: they cost more than the rest of a connection.
pub(super) static KEYS: LazyLock<(Keys, Keys)> =
    LazyLock::new(|| (Keys::from_random([1; 32]), Keys::from_random([2; 32])));
pub(super) const EPOCH: u64 = 77;

pub(super) fn host(fresh: bool) -> Link {
    let settings = Settings { timing: Timing::STREAMING, ..Settings::default() };
    let keys = KEYS.0.clone();
    Link::host(HostConfig { token: [5; 32], sandbox: "box".into(), settings, keys, fresh }, Time(1))
}

pub(super) fn supervisor() -> Link {
    Link::supervisor(SupervisorConfig { epoch: EPOCH, keys: KEYS.1.clone() }, Time(1))
}

/// Both ends, the connection between them, and who has got what.
pub(super) struct World {
    pub(super) random: Random,
    pub(super) now: Time,
    pub(super) host: Link,
    pub(super) sup: Link,
    up: Pipe,
    down: Pipe,
    /// The supervisor's view of a connection that has not said hello.
    greeting: Option<Decoder>,
    pub(super) connected: bool,
    pub(super) host_feed: Feed,
    pub(super) sup_feed: Feed,
    pub(super) host_got: Got,
    pub(super) sup_got: Got,
    pub(super) sealed: bool,
    /// Messages may arrive twice, and the host may take another way up.
    unruly: bool,
    pub(super) cuts: u64,
    pub(super) switches: u64,
    pub(super) packed: u64,
}

impl World {
    pub(super) fn new(seed: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let stingy = random.chance(30);
        let sealed = random.chance(20);
        Self {
            now: Time(1_000_000),
            host: host(true),
            sup: supervisor(),
            up: Pipe::default(),
            down: Pipe::default(),
            greeting: None,
            connected: false,
            host_feed: Feed { stingy, ..Feed::default() },
            sup_feed: Feed { stingy, ..Feed::default() },
            host_got: Got::default(),
            sup_got: Got::default(),
            sealed,
            unruly: false,
            cuts: 0,
            switches: 0,
            packed: 0,
            random,
        }
    }

    pub(super) fn unruly(seed: u64) -> Self {
        let mut world = Self::new(seed);
        world.unruly = world.random.chance(40);
        world
    }

    fn delay(&mut self) -> Time {
        self.now + Duration::from_micros(self.random.below(20_000))
    }

    pub(super) fn connect(&mut self) {
        self.host.connect(self.now, self.sealed);
        self.up = Pipe::default();
        self.down = Pipe::default();
        self.greeting = Some(Decoder::default());
        self.connected = true;
        let ready = Bytes::from(ready_message(EPOCH, &KEYS.1));
        self.put(false, ready);
    }

    /// The connection breaks: what is under way is lost from a random byte on.
    pub(super) fn cut(&mut self) {
        self.cuts += 1;
        self.connected = false;
        for upwards in [true, false] {
            let pipe = std::mem::take(if upwards { &mut self.up } else { &mut self.down });
            let total: usize = pipe.bytes.iter().map(|(_, bytes)| bytes.len()).sum();
            let mut keep = self.random.below(total as u64 + 1) as usize;
            for (_, bytes) in pipe.bytes {
                let n = bytes.len().min(keep);
                keep -= n;
                if n > 0 {
                    self.deliver(upwards, bytes.slice(..n));
                }
            }
        }
        self.host.disconnect();
        self.greeting = None;
        // The supervisor may notice late, or never, until the next hello.
        if self.random.chance(50) {
            self.sup.disconnect();
        }
    }

    /// Whether the host takes another way up now.
    pub(super) fn may_switch(&mut self) -> bool {
        self.unruly && self.random.chance(1)
    }

    /// The host takes another way up. What is under way on the first one arrives, up to a message; the rest comes after the new way's
    /// first message, once or twice, or never.
    pub(super) fn switch(&mut self) {
        let sealed = self.random.chance(50);
        self.host.hello_again(self.now, sealed, Timing::STREAMING);
        let Some(hello) = self.host.poll_transmit(self.now, &mut self.host_feed) else { return };
        self.switches += 1;
        let keep = self.random.below(self.up.bytes.len() as u64 + 1) as usize;
        let late = self.up.bytes.split_off(keep);
        self.put(true, hello.to_bytes());
        for (_, bytes) in late {
            for _ in 0..self.random.below(3) {
                self.put(true, bytes.clone());
            }
        }
    }

    /// Puts a message on its way, behind what is there.
    fn put(&mut self, upwards: bool, bytes: Bytes) {
        let at = self.delay();
        let pipe = if upwards { &mut self.up } else { &mut self.down };
        let at = pipe.bytes.back().map_or(at, |(last, _)| at.max(*last));
        pipe.bytes.push_back((at, bytes));
    }

    fn deliver(&mut self, upwards: bool, bytes: Bytes) {
        if !upwards {
            self.host.receive(self.now, bytes).unwrap();
            for event in self.host_got.take(&mut self.host) {
                assert!(matches!(event, Event::Ready { .. } | Event::Attached), "{event:?}");
            }
            return;
        }
        match &mut self.greeting {
            None => self.sup.receive(self.now, bytes).unwrap(),
            Some(decoder) => {
                decoder.push(bytes);
                if let Some(hello) = read_hello(decoder, &KEYS.1).unwrap() {
                    let decoder = self.greeting.take().unwrap();
                    self.sup.accept(self.now, &hello, decoder).unwrap();
                    self.sup.receive(self.now, Bytes::new()).unwrap();
                }
            }
        }
        for event in self.sup_got.take(&mut self.sup) {
            assert_eq!(event, Event::Attached);
        }
    }

    /// Moves bytes for a while.
    pub(super) fn step(&mut self) {
        self.now = self.now + Duration::from_micros(200 + self.random.below(3_000));
        for upwards in [true, false] {
            for _ in 0..self.random.below(4) {
                let (link, feed) =
                    if upwards { (&mut self.host, &mut self.host_feed) } else { (&mut self.sup, &mut self.sup_feed) };
                let Some(message) = link.poll_transmit(self.now, feed) else { break };
                assert!(message.len() <= MESSAGE_HEADER + MAX_BODY);
                self.packed += u64::from(message.head[4] & FLAG_PACKED != 0);
                if !self.connected {
                    continue;
                }
                let bytes = message.to_bytes();
                if self.unruly && self.random.chance(5) {
                    self.put(upwards, bytes.clone());
                }
                self.put(upwards, bytes);
            }
        }
        for upwards in [true, false] {
            loop {
                let pipe = if upwards { &mut self.up } else { &mut self.down };
                let Some((at, mut bytes)) = pipe.bytes.pop_front() else { break };
                if at > self.now {
                    pipe.bytes.push_front((at, bytes));
                    break;
                }
                // In pieces of any size.
                if bytes.len() > 1 && self.random.chance(30) {
                    let first = bytes.split_to(1 + self.random.below(bytes.len() as u64 - 1) as usize);
                    self.deliver(upwards, first);
                }
                self.deliver(upwards, bytes);
            }
        }
        self.host_got.consume(&mut self.host, &mut self.random);
        self.sup_got.consume(&mut self.sup, &mut self.random);
        self.host.handle_timeout(self.now);
        self.sup.handle_timeout(self.now);
        assert!(self.host.retained() <= 10 << 20 && self.sup.retained() <= 10 << 20);
    }

    pub(super) fn open(&mut self, down: bool, command: u32, channel: Channel, len: u64) {
        let stream = StreamId { command, channel };
        let (to, from, feed) = if down {
            (&mut self.host, &mut self.sup, &mut self.sup_feed)
        } else {
            (&mut self.sup, &mut self.host, &mut self.host_feed)
        };
        to.open_incoming(stream, 0);
        from.open_outgoing(stream, 0);
        feed.left.insert(stream, (0, len));
        from.ready(stream);
    }
}
pub(super) fn attached() -> World {
    let mut world = World::new(3);
    world.sealed = false;
    world.connect();
    for _ in 0..200 {
        world.step();
    }
    assert!(world.host.is_attached() && world.sup.is_attached());
    world
}
