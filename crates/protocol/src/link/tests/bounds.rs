//! A peer that does not keep to the rules, and what may be under way.

use bytes::Bytes;

use super::world::{EPOCH, World, attached};
use crate::{
    flight::CAP_MAX,
    link::{LinkError, SUPERVISOR},
    window,
    wire::{Channel, FRAME_HEADER, FrameHeader, Kind, MessageHeader, StreamId},
};

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
        FrameHeader::put(&mut body, kind, SUPERVISOR, payload);
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
fn without_acknowledgement_no_more_than_the_cap_is_under_way() {
    let mut world = attached();
    let sent = send_all(&mut world, NOISE);
    let cap = world.sup.flight.cap();
    assert!(sent >= cap / 2 && sent <= cap + 16 * 1024 + FRAME_HEADER as u64, "{sent} of {cap}");
}

#[test]
fn what_packs_well_is_bounded_by_what_the_line_carries_and_by_memory() {
    let mut world = attached();
    let sent = send_all(&mut world, RUNS);
    let cap = world.sup.flight.cap();
    assert!(sent >= cap / 2 && sent <= cap + 16 * 1024, "{sent} of {cap}");
    assert!(world.sup.retained() > 2 * cap, "{}", world.sup.retained());
    // A line that carries everything at once.
    let mut world = attached();
    world.sup.flight.set_floor(CAP_MAX);
    send_all(&mut world, RUNS);
    let retained = world.sup.retained();
    assert!(retained > CAP_MAX / 2 && retained <= CAP_MAX, "{retained}");
}

/// A command whose streams do not pack, and one whose streams do.
const NOISE: u32 = 1;
const RUNS: u32 = 2;

/// The supervisor sends a long stream of `command` for as long as it may, to nobody; gives how many bytes that took.
fn send_all(world: &mut World, command: u32) -> u64 {
    world.open(true, command, Channel::Stdout, 100 << 20);
    let stream = StreamId { command, channel: Channel::Stdout };
    world.sup.schedule.credit(stream, u64::MAX);
    let mut sent = 0;
    while let Some(message) = world.sup.poll_transmit(world.now, &mut world.sup_feed) {
        sent += message.len() as u64;
    }
    assert!(world.sup.is_waiting(stream));
    sent
}
