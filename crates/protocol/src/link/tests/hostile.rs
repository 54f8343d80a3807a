//! Bytes from anybody: an answer, never a panic, never more memory than the bounds say.
//!
//! `DSH_HOSTILE_CASES` says how many cases each test takes.

use bytes::Bytes;

use super::{
    ends::{Feed, Random},
    number,
    world::{EPOCH, KEYS, host, supervisor},
};
use crate::{
    control::{self, FromSupervisor, ToSupervisor},
    decode::Decoder,
    flight::{CAP_MAX, CONTROL_RESERVE},
    handshake::{Hello, Settings, Welcome},
    link::{Event, Link, LinkError, SUPERVISOR, ready_message, refusal_message},
    time::Time,
    wire::{
        BadBytes, Channel, FLAG_PACKED, FLAG_SEALED, FRAME_HEADER, FrameHeader, Kind, MAX_BODY, MAX_CONTROL,
        MAX_PAYLOAD, MAX_UNFINISHED, MESSAGE_HEADER, MessageHeader, StreamId,
    },
};

fn cases() -> u64 {
    number("DSH_HOSTILE_CASES", 20_000)
}

const KINDS: [Kind; 12] = [
    Kind::Ready,
    Kind::Hello,
    Kind::Welcome,
    Kind::Refused,
    Kind::Ack,
    Kind::Credit,
    Kind::Ping,
    Kind::Pong,
    Kind::Data,
    Kind::End,
    Kind::Control,
    Kind::ControlPart,
];

/// A payload as `kind` has it, more or less.
fn payload(random: &mut Random, kind: Kind) -> Vec<u8> {
    let mut payload = match (kind, random.below(4)) {
        (Kind::Ack, 0..3) => [&random.below(200).to_le_bytes()[..], &[0; 4]].concat(),
        (Kind::Credit | Kind::Ping | Kind::Pong, 0..3) => random.below(1 << 20).to_le_bytes().to_vec(),
        (Kind::Ready, 0..3) => ready_message(EPOCH, &KEYS.1)[MESSAGE_HEADER + FRAME_HEADER..].to_vec(),
        (Kind::Hello, 0..3) => control::encode(&hello(random.below(1 << 20) as u32, random.below(99))),
        (Kind::Welcome, 0..3) => {
            control::encode(&Welcome { received: random.below(9), resumes: u64::MAX >> (random.below(2) * 60) })
        }
        (Kind::Control, 0) => control::encode(&ToSupervisor::Resize { rows: 1, cols: 2 }),
        (Kind::Control, 1) => control::encode(&FromSupervisor::Prepared { pids: vec![7, 8] }),
        _ => (0..random.below(40)).map(|_| random.next() as u8).collect(),
    };
    for _ in 0..random.below(3) {
        if !payload.is_empty() {
            let at = random.below(payload.len() as u64) as usize;
            payload[at] = random.next() as u8;
        }
    }
    payload
}

fn hello(attachment: u32, received: u64) -> Hello {
    let (sandbox, settings) = ("box".into(), Settings::default());
    Hello { version: crate::wire::VERSION, token: [5; 32], sandbox, attachment, received: Some(received), settings }
}

/// A message of well-framed nonsense.
fn message(random: &mut Random, epoch: u64, attachment: u32, offset: u64) -> Vec<u8> {
    let mut body = Vec::new();
    for _ in 0..random.below(5) {
        let kind = KINDS[random.below(KINDS.len() as u64) as usize];
        let channel = [Channel::Stdin, Channel::Stdout, Channel::Stderr][random.below(3) as usize];
        let stream = StreamId { command: random.below(4) as u32, channel };
        FrameHeader::put(&mut body, kind, stream, &payload(random, kind));
    }
    let packed = random.chance(10);
    if packed {
        body = snap::raw::Encoder::new().compress_vec(&body).unwrap();
        if random.chance(20) {
            damage(random, &mut body);
        }
    }
    let flags = (u8::from(random.chance(2)) * FLAG_SEALED) | (u8::from(packed) * FLAG_PACKED);
    let offset = match random.below(100) {
        0..85 => offset,
        85..98 => random.below(1 << 12),
        _ => u64::MAX >> random.below(3) as u32,
    };
    let attachment = if random.chance(95) { attachment } else { random.next() as u32 };
    let header = MessageHeader { body: body.len(), flags, epoch, attachment, offset };
    [&header.encode()[..], &body].concat()
}

/// Breaks bytes here and there.
fn damage(random: &mut Random, bytes: &mut Vec<u8>) {
    for _ in 0..random.below(4) {
        let len = bytes.len() as u64;
        let at = random.below(len) as usize;
        match random.below(5) {
            0 if len > 0 => bytes[at] ^= 1 << random.below(8),
            1 if len > 0 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][random.below(5) as usize],
            2 => bytes.truncate(at),
            3 if len > 0 => drop(bytes.remove(at)),
            _ => bytes.insert(at, random.next() as u8),
        }
    }
}

/// Gives `bytes` out in pieces of any size.
fn pieces(random: &mut Random, bytes: Vec<u8>) -> Vec<Bytes> {
    let mut rest = Bytes::from(bytes);
    let mut pieces = Vec::new();
    while rest.len() > 1 && random.chance(40) {
        pieces.push(rest.split_to(1 + random.below(rest.len() as u64 - 1) as usize));
    }
    pieces.push(rest);
    pieces
}

#[test]
fn any_bytes_are_frames_or_bad_bytes_or_too_few_and_no_more_is_kept_than_a_message() {
    let mut random = Random(0x00DE_C0DE);
    let (mut frames, mut bad) = (0_u64, 0_u64);
    for case in 0..cases() {
        let mut bytes = Vec::new();
        for _ in 0..random.below(4) {
            let offset = random.below(99);
            bytes.extend(message(&mut random, EPOCH, 1, offset));
        }
        damage(&mut random, &mut bytes);
        let fed = bytes.len();
        let (mut decoder, mut told) = (Decoder::default(), 0);
        'case: for piece in pieces(&mut random, bytes) {
            decoder.push(piece);
            loop {
                match decoder.next(Some(&KEYS.1)) {
                    Ok(Some(frame)) => {
                        assert!(frame.payload.len() <= MAX_PAYLOAD, "case {case}");
                        told += FRAME_HEADER + frame.payload.len();
                        frames += 1;
                    }
                    Ok(None) => break,
                    Err(_) => {
                        bad += 1;
                        break 'case;
                    }
                }
            }
            assert!(decoder.held() <= MESSAGE_HEADER + MAX_BODY, "case {case}: {}", decoder.held());
        }
        // Three bytes of a Snappy block stand for 64 at most.
        assert!(told <= fed * 22, "case {case}: {told} bytes of frames from {fed}");
    }
    assert!(frames > cases() && bad > cases() / 20, "{frames} frames, {bad} bad: the cases are too much alike");
}

/// A link that is attached again, to nobody, whenever a case has cost it its connection.
struct Victim {
    link: Link,
    as_host: bool,
    now: Time,
    attachment: u32,
}

impl Victim {
    fn new(as_host: bool, fresh: bool) -> Self {
        let link = if as_host { host(fresh) } else { supervisor() };
        Self { link, as_host, now: Time(1_000_000), attachment: 0 }
    }

    fn attach(&mut self) {
        let received = self.link.flight.next_offset();
        if self.as_host {
            self.attachment = self.link.connect(self.now, false);
            self.link.receive(self.now, ready_message(EPOCH, &KEYS.1).into()).unwrap();
            let welcome = control::encode(&Welcome { received, resumes: self.link.received });
            let mut body = Vec::new();
            FrameHeader::put(&mut body, Kind::Welcome, SUPERVISOR, &welcome);
            let header =
                MessageHeader { body: body.len(), flags: 0, epoch: EPOCH, attachment: self.attachment, offset: 0 };
            self.link.receive(self.now, [&header.encode()[..], &body].concat().into()).unwrap();
        } else {
            // Whatever a hostile hello has made of it.
            self.attachment = self.link.attachment + 1;
            self.link.accept(self.now, &hello(self.attachment, received), Decoder::default()).unwrap();
        }
        assert!(self.link.is_attached());
        for command in 1..4 {
            for channel in [Channel::Stdin, Channel::Stdout, Channel::Stderr] {
                self.link.close_incoming(StreamId { command, channel });
                self.link.open_incoming(StreamId { command, channel }, 0);
                self.link.open_outgoing(StreamId { command, channel }, 0);
            }
            self.link.forget(command);
        }
    }

    /// Takes everything that there is to tell, as a driver does.
    fn drain(&mut self) {
        while let Some(event) = self.link.poll_event() {
            match event {
                Event::Control { message, .. } if self.as_host => {
                    let _ = control::decode::<FromSupervisor>(Kind::Control, &message);
                }
                Event::Control { message, .. } => drop(control::decode::<ToSupervisor>(Kind::Control, &message)),
                Event::Data { stream, bytes } => self.link.consume(stream, bytes.len() as u64),
                _ => {}
            }
        }
        while self.link.poll_transmit(self.now, &mut Feed::default()).is_some() {}
        assert!(self.link.retained() <= CAP_MAX + CONTROL_RESERVE);
        assert!(self.link.parts_len <= MAX_CONTROL && self.link.parts.len() <= MAX_UNFINISHED);
        assert!(self.link.credits.len() <= 12 && self.link.events.is_empty());
        assert!(self.link.decoder.held() <= MESSAGE_HEADER + MAX_BODY);
    }
}

#[test]
fn any_message_is_an_answer_of_the_link_and_it_can_be_attached_again_after_it() {
    for (as_host, fresh) in [(true, true), (true, false), (false, true)] {
        let mut random = Random(0x00BA_D1DE + u64::from(as_host) + 2 * u64::from(fresh));
        let mut victim = Victim::new(as_host, fresh);
        let (mut errors, mut attached) = (0_u64, 0_u64);
        let cases = cases() / 3;
        for _ in 0..cases {
            victim.now = Time(victim.now.0 + random.below(2_000));
            if !victim.link.is_attached() || random.chance(2) {
                victim.attach();
                attached += 1;
            }
            let (offset, attachment) = (victim.link.received, victim.link.attachment);
            let mut bytes = message(&mut random, EPOCH, attachment, offset);
            if random.chance(2) {
                bytes.extend(refusal_message(EPOCH, &crate::handshake::Refusal::Token));
            }
            if random.chance(30) {
                damage(&mut random, &mut bytes);
            }
            for piece in pieces(&mut random, bytes) {
                if victim.link.receive(victim.now, piece).is_err() {
                    errors += 1;
                    victim.link.disconnect();
                }
                victim.drain();
                victim.link.handle_timeout(victim.now);
            }
        }
        assert!(errors > cases / 10 && attached < cases, "{errors} errors, {attached} attachments of {cases}");
        assert!(victim.link.received > cases, "next to nothing was taken for good: {}", victim.link.received);
    }
}

#[test]
fn unfinished_control_messages_cost_a_bounded_amount_of_memory() {
    // Of how many commands, how long each part, and how many of them are taken.
    for (commands, len, most) in [(1, MAX_PAYLOAD, MAX_CONTROL / MAX_PAYLOAD), (u32::MAX, 0, MAX_UNFINISHED)] {
        let mut victim = Victim::new(false, true);
        victim.attach();
        for taken in 0.. {
            let mut body = Vec::new();
            let stream = StreamId { command: taken as u32 % commands, channel: Channel::Stdin };
            FrameHeader::put(&mut body, Kind::ControlPart, stream, &vec![0; len]);
            let offset = victim.link.received;
            let header = MessageHeader { body: body.len(), flags: 0, epoch: EPOCH, attachment: 1, offset };
            if let Err(error) = victim.link.receive(victim.now, [&header.encode()[..], &body].concat().into()) {
                assert_eq!((error, taken), (LinkError::ControlLength, most));
                break;
            }
        }
    }
}

#[test]
fn a_message_that_is_too_long_is_refused_before_it_comes() {
    let header = MessageHeader { body: MAX_BODY + 1, flags: 0, epoch: EPOCH, attachment: 1, offset: 0 };
    let mut decoder = Decoder::default();
    decoder.push(Bytes::copy_from_slice(&header.encode()));
    assert_eq!(decoder.next(None).unwrap_err(), BadBytes::BodyLength(MAX_BODY + 1));
}
