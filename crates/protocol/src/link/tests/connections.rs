//! How connections come and go, and who is refused.

use bytes::Bytes;

use super::{
    ends::{Feed, Got},
    world::{EPOCH, KEYS, attached, host},
};
use crate::{
    control::ToSupervisor,
    decode::Decoder,
    handshake::{Hello, Refusal, Settings},
    link::{Event, SUPERVISOR, ready_message, refusal_message},
    time::Time,
    wire::{FRAME_HEADER, FrameHeader, Kind, MESSAGE_HEADER, MessageHeader, VERSION},
};

fn hello() -> Hello {
    let settings = Settings::default();
    Hello { version: VERSION, token: [5; 32], sandbox: "box".into(), attachment: 9, received: Some(0), settings }
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
    assert_eq!(accept(|hello| hello.version = 9), Err(Refusal::Version { supervisor: VERSION, host: 9 }));
    assert_eq!(accept(|hello| hello.token[31] = 0), Err(Refusal::Token));
    assert_eq!(accept(|hello| hello.sandbox = "copy".into()), Err(Refusal::Sandbox));
    assert_eq!(accept(|hello| hello.attachment = 1), Err(Refusal::Stale));
    assert_eq!(accept(|hello| hello.received = Some(1)), Err(Refusal::Offset));
}

#[test]
fn a_supervisor_of_another_version_is_refused_by_the_host() {
    let mut link = host(true);
    link.connect(Time(2), false);
    let mut ready = ready_message(EPOCH, &KEYS.1);
    ready[MESSAGE_HEADER + FRAME_HEADER] = 9;
    link.receive(Time(3), ready.into()).unwrap();
    assert_eq!(link.poll_event(), Some(Event::Refused(Refusal::Version { supervisor: 9, host: VERSION })));
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
    let ready = ready_message(EPOCH + 1, &KEYS.1);
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
    FrameHeader::put(&mut body, Kind::Control, SUPERVISOR, b"late");
    let offset = world.sup.received;
    let header = MessageHeader { body: body.len(), flags: 0, epoch: EPOCH, attachment: 1, offset };
    let unheard = Bytes::from([&header.encode()[..], &body].concat());
    for late in [repeated, unheard] {
        world.sup.receive(world.now, late).unwrap();
        world.sup_got.take(&mut world.sup);
        assert_eq!(world.sup_got.control.len(), 1);
    }
}
