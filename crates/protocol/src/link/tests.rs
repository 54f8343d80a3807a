//! Both ends in one process, in virtual time, over connections that are cut anywhere.

#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, reason = "a failed unwrap fails the test")]

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use bytes::Bytes;
use proptest::prelude::*;

use super::{
    Event, Filled, HostConfig, Link, LinkError, Source, SupervisorConfig, read_hello, ready_message, refusal_message,
};
use crate::{
    control::{EndReason, StreamEnd, ToSupervisor},
    decode::Decoder,
    handshake::{Hello, Refusal, Settings, Timing},
    seal::Keys,
    time::Time,
    window,
    wire::{Channel, FRAME_HEADER, FrameHeader, Kind, MAX_BODY, MAX_PAYLOAD, MESSAGE_HEADER, MessageHeader, StreamId},
};

/// A tiny generator, so that a schedule is its seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// What byte `at` of a stream is: any loss, repetition or swap shows.
fn expected(stream: StreamId, at: u64) -> u8 {
    (at.wrapping_mul(31) ^ (at >> 8) ^ (u64::from(stream.command) * 7)) as u8 ^ stream.channel as u8
}

/// An endless source that gives streams of known lengths.
#[derive(Default)]
struct Feed {
    left: BTreeMap<StreamId, (u64, u64)>,
    stingy: bool,
}

impl Source for Feed {
    fn read(&mut self, stream: StreamId, max: usize, out: &mut Vec<u8>) -> Filled {
        let Some((at, len)) = self.left.get_mut(&stream) else { return Filled::Drained };
        let n = (*len - *at).min(if self.stingy { 1 + max as u64 / 3 } else { max as u64 });
        out.extend((*at..*at + n).map(|i| expected(stream, i)));
        *at += n;
        if at == len {
            self.left.remove(&stream);
            return Filled::End(StreamEnd { offset: 0, reason: EndReason::Eof, spilled: false });
        }
        Filled::More
    }
}

/// What one end has got.
#[derive(Default)]
struct Got {
    streams: BTreeMap<StreamId, u64>,
    ended: BTreeMap<StreamId, u64>,
    control: Vec<(u32, Bytes)>,
    /// What had come of each stream when the control message of the same index came.
    before: Vec<BTreeMap<StreamId, u64>>,
    unread: BTreeMap<StreamId, u64>,
}

impl Got {
    fn take(&mut self, link: &mut Link) -> Vec<Event> {
        let mut others = Vec::new();
        while let Some(event) = link.poll_event() {
            match event {
                Event::Data { stream, bytes } => {
                    let at = self.streams.entry(stream).or_default();
                    for byte in &bytes {
                        assert_eq!(*byte, expected(stream, *at), "{stream:?} at {at}");
                        *at += 1;
                    }
                    *self.unread.entry(stream).or_default() += bytes.len() as u64;
                }
                Event::End { stream, end } => {
                    assert_eq!(end.offset, self.streams.get(&stream).copied().unwrap_or_default());
                    assert_eq!(self.ended.insert(stream, end.offset), None, "{stream:?} ended twice");
                }
                Event::Control { command, message } => {
                    self.control.push((command, message));
                    self.before.push(self.streams.clone());
                }
                other => others.push(other),
            }
        }
        others
    }

    fn consume(&mut self, link: &mut Link, random: &mut Random) {
        for (stream, bytes) in &mut self.unread {
            if *bytes > 0 && random.chance(60) {
                let n = 1 + random.below(*bytes);
                link.consume(*stream, n);
                *bytes -= n;
            }
        }
    }
}

/// One direction of one connection: bytes with the time when they arrive.
#[derive(Default)]
struct Pipe {
    bytes: VecDeque<(Time, Bytes)>,
}

const KEYS: ([u8; 32], [u8; 32]) = ([1; 32], [2; 32]);
const EPOCH: u64 = 77;

fn host(fresh: bool) -> Link {
    let settings = Settings { timing: Timing::STREAMING, ..Settings::default() };
    let keys = Keys::from_random(KEYS.0);
    Link::host(HostConfig { token: [5; 32], sandbox: "box".into(), settings, keys, fresh }, Time(1))
}

fn supervisor() -> Link {
    Link::supervisor(SupervisorConfig { epoch: EPOCH, keys: Keys::from_random(KEYS.1) }, Time(1))
}

/// Both ends, the connection between them, and who has got what.
struct World {
    random: Random,
    now: Time,
    host: Link,
    sup: Link,
    up: Pipe,
    down: Pipe,
    /// The supervisor's view of a connection that has not said hello.
    greeting: Option<Decoder>,
    connected: bool,
    host_feed: Feed,
    sup_feed: Feed,
    host_got: Got,
    sup_got: Got,
    sealed: bool,
    cuts: u64,
}

impl World {
    fn new(seed: u64) -> Self {
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
            cuts: 0,
            random,
        }
    }

    fn delay(&mut self) -> Time {
        self.now + Duration::from_micros(self.random.below(20_000))
    }

    fn connect(&mut self) {
        self.host.connect(self.now, self.sealed);
        self.up = Pipe::default();
        self.down = Pipe::default();
        self.greeting = Some(Decoder::default());
        self.connected = true;
        let ready = Bytes::from(ready_message(EPOCH, &Keys::from_random(KEYS.1)));
        let at = self.delay();
        self.down.bytes.push_back((at, ready));
    }

    /// The connection breaks: what is under way is lost from a random byte on.
    fn cut(&mut self) {
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
                if let Some(hello) = read_hello(decoder, &Keys::from_random(KEYS.1)).unwrap() {
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
    fn step(&mut self) {
        self.now = self.now + Duration::from_micros(200 + self.random.below(3_000));
        for upwards in [true, false] {
            for _ in 0..self.random.below(4) {
                let (link, feed) =
                    if upwards { (&mut self.host, &mut self.host_feed) } else { (&mut self.sup, &mut self.sup_feed) };
                let Some(message) = link.poll_transmit(self.now, feed) else { break };
                assert!(message.len() <= MESSAGE_HEADER + MAX_BODY);
                if !self.connected {
                    continue;
                }
                let at = self.delay();
                let pipe = if upwards { &mut self.up } else { &mut self.down };
                let at = pipe.bytes.back().map_or(at, |(last, _)| at.max(*last));
                pipe.bytes.push_back((at, message.to_bytes()));
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

    fn open(&mut self, down: bool, command: u32, channel: Channel, len: u64) {
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

/// One schedule: streams and control messages both ways, under cuts; everything must arrive once, in order.
fn run(seed: u64, cut_percent: u64) -> u64 {
    let mut world = World::new(seed);
    let (mut up, mut down) = (Vec::new(), Vec::new());
    let mut ahead = Vec::new();
    let streams = 1 + world.random.below(6) as u32;
    let mut lengths = BTreeMap::new();
    for command in 1..=streams {
        for (is_down, channel) in [(false, Channel::Stdin), (true, Channel::Stdout), (true, Channel::Stderr)] {
            let len = match world.random.below(4) {
                0 => 0,
                1 => world.random.below(100),
                2 => world.random.below(70_000),
                _ => world.random.below(300_000),
            };
            world.open(is_down, command, channel, len);
            lengths.insert(StreamId { command, channel }, len);
        }
    }
    let mut steps = 0;
    loop {
        steps += 1;
        assert!(steps < 200_000, "seed {seed}: no end in sight");
        if !world.connected && world.random.chance(20) {
            world.connect();
        } else if world.connected && steps < 3_000 && world.random.chance(cut_percent) {
            world.cut();
        }
        if up.len() < 20 && world.random.chance(20) {
            let number = up.len() as u64;
            let len = if world.random.chance(10) { 200_000 } else { world.random.below(50) as usize };
            let message = (number, serde_bytes::ByteBuf::from(vec![number as u8; len]));
            let command = world.random.below(5) as u32;
            world.host.send(command, &message);
            up.push((command, Bytes::from(crate::control::encode(&message))));
            let stream = StreamId { command: 1 + number as u32 % streams, channel: Channel::Stdout };
            if world.random.chance(50) {
                let most = 1 + world.random.below(150_000) as usize;
                let before = world.sup.sent(stream);
                world.sup.send_ahead(stream, most, &mut world.sup_feed);
                assert!(world.sup.sent(stream).is_none_or(|sent| sent - before.unwrap() <= most as u64));
                ahead.extend(world.sup.sent(stream).map(|sent| (down.len(), stream, sent)));
            }
            let message = (number, 9_u8);
            world.sup.send(command, &message);
            down.push((command, Bytes::from(crate::control::encode(&message))));
        }
        world.step();
        let ended = world.host_got.ended.len() + world.sup_got.ended.len();
        let told = world.host_got.control.len() + world.sup_got.control.len();
        if ended == lengths.len() && up.len() == 20 && told == 40 {
            break;
        }
    }
    for (stream, len) in lengths {
        let got = if stream.channel == Channel::Stdin { &world.sup_got } else { &world.host_got };
        assert_eq!(got.ended.get(&stream), Some(&len), "seed {seed}: {stream:?}");
    }
    assert_eq!(world.sup_got.control, up, "seed {seed}");
    assert_eq!(world.host_got.control, down, "seed {seed}");
    for (message, stream, sent) in ahead {
        let had = world.host_got.before[message].get(&stream).copied().unwrap_or_default();
        assert!(had >= sent, "seed {seed}: message {message} came after {had} bytes of {stream:?}, not {sent}");
    }
    world.cuts
}

#[test]
fn everything_arrives_once_and_in_order_over_a_whole_connection() {
    for seed in 1..=20 {
        assert_eq!(run(seed, 0), 0);
    }
}

#[test]
fn everything_arrives_once_and_in_order_whatever_is_cut() {
    let schedules = std::env::var("DSH_LINK_SCHEDULES").ok().and_then(|n| n.parse().ok()).unwrap_or(150);
    let first = std::env::var("DSH_LINK_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let cuts: u64 = (first..first + schedules).map(|seed| run(seed, 1 + seed % 12)).sum();
    assert!(cuts > schedules, "the schedules cut too little: {cuts}");
}

#[test]
fn what_is_sent_ahead_comes_before_the_next_message_as_far_as_there_is_credit() {
    let mut world = attached();
    let stream = StreamId { command: 1, channel: Channel::Stdout };
    world.open(true, 1, Channel::Stdout, 200_000);
    world.sup.send_ahead(stream, 100, &mut world.sup_feed);
    world.sup.send(1, &1_u8);
    world.sup.send_ahead(stream, usize::MAX, &mut world.sup_feed);
    world.sup.send(1, &2_u8);
    world.sup.send_ahead(StreamId { command: 2, channel: Channel::Stdout }, 100, &mut world.sup_feed);
    while world.host_got.control.len() < 2 {
        world.step();
    }
    let before: Vec<u64> = world.host_got.before.iter().map(|streams| streams[&stream]).collect();
    assert_eq!(before, [100, window::BASE]);
    while world.host_got.ended.is_empty() {
        world.step();
    }
    assert_eq!(world.host_got.ended[&stream], 200_000);
}

fn attached() -> World {
    let mut world = World::new(3);
    world.sealed = false;
    world.connect();
    for _ in 0..200 {
        world.step();
    }
    assert!(world.host.is_attached() && world.sup.is_attached());
    world
}

fn hello() -> Hello {
    let settings = Settings::default();
    Hello {
        version: crate::wire::VERSION,
        token: [5; 32],
        sandbox: "box".into(),
        attachment: 9,
        received: Some(0),
        settings,
    }
}

#[test]
fn a_hello_that_does_not_fit_is_refused_with_its_reason() {
    let accept = |change: fn(&mut Hello)| {
        let mut world = attached();
        let mut hello = hello();
        change(&mut hello);
        world.sup.accept(world.now, &hello, Decoder::default())
    };
    assert_eq!(accept(|_| {}), Ok(()));
    assert_eq!(accept(|hello| hello.version = 9), Err(Refusal::Version { supervisor: 1, host: 9 }));
    assert_eq!(accept(|hello| hello.token[31] = 0), Err(Refusal::Token));
    assert_eq!(accept(|hello| hello.sandbox = "copy".into()), Err(Refusal::Sandbox));
    assert_eq!(accept(|hello| hello.attachment = 1), Err(Refusal::Stale));
    assert_eq!(accept(|hello| hello.received = Some(1)), Err(Refusal::Offset));
}

#[test]
fn a_supervisor_of_another_version_is_refused_by_the_host() {
    let mut link = host(true);
    link.connect(Time(2), false);
    let mut ready = ready_message(EPOCH, &Keys::from_random(KEYS.1));
    ready[MESSAGE_HEADER + FRAME_HEADER] = 9;
    link.receive(Time(3), ready.into()).unwrap();
    assert_eq!(link.poll_event(), Some(Event::Refused(Refusal::Version { supervisor: 9, host: 1 })));
}

#[test]
fn a_refusal_ends_the_connection() {
    let mut link = host(true);
    link.connect(Time(2), false);
    link.receive(Time(3), refusal_message(EPOCH, &Refusal::Token).into()).unwrap();
    assert_eq!(link.poll_event(), Some(Event::Refused(Refusal::Token)));
    assert_eq!(link.poll_timeout(), None);
}

#[test]
fn another_life_of_the_supervisor_is_noticed() {
    let mut world = attached();
    world.host.disconnect();
    world.host.connect(world.now, false);
    let ready = ready_message(EPOCH + 1, &Keys::from_random(KEYS.1));
    world.host.receive(world.now, ready.into()).unwrap();
    assert_eq!(world.host.poll_event(), Some(Event::OtherEpoch { epoch: EPOCH + 1 }));
}

#[test]
fn a_host_that_remembers_nothing_finds_where_its_predecessor_stopped() {
    let mut world = attached();
    world.host.send(1, &ToSupervisor::Terminate);
    world.sup.send(1, &1_u8);
    for _ in 0..200 {
        world.step();
    }
    world.sup.send(1, &2_u8);
    world.cut();
    world.host = host(false);
    world.host_got = Got::default();
    world.connect();
    for _ in 0..200 {
        world.step();
    }
    world.host.send(2, &ToSupervisor::ListRunning);
    for _ in 0..200 {
        world.step();
    }
    assert_eq!(world.host_got.control, [(1, Bytes::from_static(&[2]))]);
    assert_eq!(world.sup_got.control.len(), 2);
}

#[test]
fn a_command_that_was_never_sent_can_be_taken_back_and_a_sent_one_can_not() {
    let mut world = attached();
    world.host.send(1, &ToSupervisor::Terminate);
    assert!(world.host.take_back(1));
    world.host.send(2, &ToSupervisor::Terminate);
    world.step();
    for _ in 0..200 {
        world.step();
    }
    assert!(world.host.was_sent(2));
    assert!(!world.host.take_back(2));
    assert_eq!(world.sup_got.control.len(), 1);
    assert_eq!(world.sup_got.control[0].0, 2);
}

#[test]
fn no_input_overtakes_a_command_that_fills_several_messages() {
    let mut world = attached();
    world.host.flight.set_floor(1 << 20);
    let stream = StreamId { command: 1, channel: Channel::Stdin };
    world.host.send(1, &vec![7_u8; 4 * MAX_PAYLOAD]);
    world.host.open_outgoing(stream, 0);
    world.host_feed.left.insert(stream, (0, 10));
    world.host.ready(stream);
    let mut seen = Vec::new();
    while let Some(message) = world.host.poll_transmit(world.now, &mut world.host_feed) {
        world.sup.feed(world.now, [&message.head[..], &message.body].concat().into());
        while world.sup.step(world.now).unwrap() {
            while let Some(event) = world.sup.poll_event() {
                if let Event::Control { command: 1, .. } = event {
                    world.sup.open_incoming(stream, 0);
                }
                seen.push(event);
            }
        }
    }
    assert!(matches!(seen[..], [Event::Control { .. }, Event::Data { .. }, Event::End { .. }]), "{}", seen.len());
}

#[test]
fn silence_is_noticed_within_its_bound_and_a_long_sleep_is_not_silence() {
    let mut world = attached();
    let start = world.now;
    let mut now = start;
    // Asleep for an hour: one tick.
    now = now + Duration::from_secs(3600);
    world.host.handle_timeout(now);
    assert_eq!(world.host.poll_event(), None);
    world.host.receive(now, Bytes::new()).unwrap();
    let awake = now;
    loop {
        now = world.host.poll_timeout().unwrap();
        world.host.handle_timeout(now);
        while world.host.poll_transmit(now, &mut Feed::default()).is_some() {}
        if world.host.poll_event() == Some(Event::Silent) {
            break;
        }
    }
    let noticed = now.since(awake);
    assert!(noticed >= Duration::from_secs(15) && noticed <= Duration::from_secs(16), "{noticed:?}");
}

#[test]
fn an_idle_link_only_pings() {
    let mut world = attached();
    let (mut up, mut down) = (0, 0);
    for _ in 0..60 {
        world.now = world.now + Duration::from_secs(1);
        world.host.handle_timeout(world.now);
        world.sup.handle_timeout(world.now);
        while let Some(message) = world.host.poll_transmit(world.now, &mut Feed::default()) {
            up += 1;
            world.sup.receive(world.now, message.to_bytes()).unwrap();
        }
        while let Some(message) = world.sup.poll_transmit(world.now, &mut Feed::default()) {
            down += 1;
            world.host.receive(world.now, message.to_bytes()).unwrap();
        }
    }
    assert!((11..=14).contains(&up) && (11..=14).contains(&down), "{up} up, {down} down in a minute");
}

#[test]
fn a_peer_beyond_its_credit_is_cut_off() {
    let mut world = attached();
    let stream = StreamId { command: 1, channel: Channel::Stdout };
    world.host.open_incoming(stream, 0);
    let mut body = Vec::new();
    FrameHeader::put(&mut body, Kind::Data, stream, &vec![0; window::BASE as usize]);
    FrameHeader::put(&mut body, Kind::Data, stream, b"x");
    let header = MessageHeader { body: body.len(), flags: 0, epoch: EPOCH, attachment: 1, offset: 0 };
    let bytes = [&header.encode()[..], &body].concat();
    assert_eq!(world.host.receive(world.now, bytes.into()), Err(LinkError::Credit(stream)));
}

#[test]
fn missing_frames_and_acknowledgements_of_nothing_are_errors() {
    let mut world = attached();
    let message = |kind, offset, payload: &[u8]| {
        let mut body = Vec::new();
        FrameHeader::put(&mut body, kind, super::SUPERVISOR, payload);
        let header = MessageHeader { body: body.len(), flags: 0, epoch: EPOCH, attachment: 1, offset };
        Bytes::from([&header.encode()[..], &body].concat())
    };
    assert_eq!(
        world.host.receive(world.now, message(Kind::Control, 5, b"x")),
        Err(LinkError::Gap { expected: 0, got: 5 })
    );
    let mut world = attached();
    let ack = [&99_u64.to_le_bytes()[..], &[0; 4]].concat();
    assert_eq!(world.host.receive(world.now, message(Kind::Ack, 0, &ack)), Err(LinkError::BadOffset(99)));
    let mut world = attached();
    assert_eq!(world.sup.receive(world.now, message(Kind::Welcome, 0, b"")), Err(LinkError::Unexpected(Kind::Welcome)));
}

#[test]
fn messages_of_earlier_attachments_are_ignored() {
    let mut world = attached();
    world.host.send(1, &ToSupervisor::Terminate);
    let repeated = world.host.poll_transmit(world.now, &mut Feed::default()).unwrap().to_bytes();
    world.cut();
    world.connect();
    for _ in 0..200 {
        world.step();
    }
    // One that was lost and went again, and one that never arrived and fits exactly.
    let mut body = Vec::new();
    FrameHeader::put(&mut body, Kind::Control, super::SUPERVISOR, b"late");
    let offset = world.sup.received;
    let header = MessageHeader { body: body.len(), flags: 0, epoch: EPOCH, attachment: 1, offset };
    let unheard = Bytes::from([&header.encode()[..], &body].concat());
    for late in [repeated, unheard] {
        world.sup.receive(world.now, late).unwrap();
        world.sup_got.take(&mut world.sup);
        assert_eq!(world.sup_got.control.len(), 1);
    }
}

#[test]
fn without_acknowledgement_no_more_than_the_cap_is_under_way() {
    let mut world = attached();
    world.open(true, 1, Channel::Stdout, 100 << 20);
    let stream = StreamId { command: 1, channel: Channel::Stdout };
    world.sup.schedule.credit(stream, u64::MAX);
    let mut sent = 0;
    while let Some(message) = world.sup.poll_transmit(world.now, &mut world.sup_feed) {
        sent += message.body.len() as u64;
    }
    let cap = world.sup.flight.cap();
    assert!(sent >= cap / 2 && sent <= cap + 16 * 1024 + FRAME_HEADER as u64, "{sent} of {cap}");
    assert!(world.sup.is_waiting(stream));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_an_answer_and_not_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), as_host: bool) {
        let mut decoder = Decoder::default();
        decoder.push(Bytes::from(bytes.clone()));
        while let Ok(Some(_)) = decoder.next(Some(&Keys::from_random(KEYS.1))) {}
        let mut world = attached();
        let link = if as_host { &mut world.host } else { &mut world.sup };
        let _ = link.receive(world.now, bytes.into());
    }

    #[test]
    fn a_well_framed_message_of_nonsense_is_an_answer_and_not_a_panic(
        frames in prop::collection::vec((1_u8..0x14, 0_u8..3, 0_u32..3, prop::collection::vec(any::<u8>(), 0..40)), 0..6),
        offset in 0_u64..4,
        as_host: bool,
    ) {
        let mut body = Vec::new();
        for (kind, tag, command, payload) in &frames {
            body.push(*kind);
            body.push(*tag);
            body.extend_from_slice(&command.to_le_bytes());
            body.extend_from_slice(&(payload.len() as u32).to_le_bytes());
            body.extend_from_slice(payload);
        }
        let header = MessageHeader { body: body.len(), flags: 0, epoch: EPOCH, attachment: 1, offset };
        let mut world = attached();
        let link = if as_host { &mut world.host } else { &mut world.sup };
        let _ = link.receive(world.now, [&header.encode()[..], &body].concat().into());
        while link.poll_event().is_some() {}
        let _ = link.poll_transmit(world.now, &mut Feed::default());
    }
}
