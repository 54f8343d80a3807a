//! What is said about commands, in its order.

use super::world::attached;
use crate::{
    control::{self, Resolve, ToSupervisor},
    link::Event,
    window,
    wire::{Channel, FLAG_PACKED, MAX_CONTROL, MAX_PAYLOAD, StreamId},
};

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
fn an_environment_is_never_packed_and_input_is() {
    let mut world = attached();
    let secret = vec![b's'; 40_000];
    world.host.send(1, &secret);
    let message = world.host.poll_transmit(world.now, &mut world.host_feed).unwrap();
    assert_eq!(message.head[4], 0);
    assert!(message.body.windows(secret.len()).any(|part| part == secret));
    world.sup.open_incoming(StreamId { command: 2, channel: Channel::Stdin }, 0);
    world.open(false, 2, Channel::Stdin, 40_000);
    let message = world.host.poll_transmit(world.now, &mut world.host_feed).unwrap();
    assert_eq!(message.head[4], FLAG_PACKED);
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
fn the_longest_message_that_fits_arrives() {
    let question = |len| Resolve { command: vec![b'x'; len].into(), path: None, cwd: Vec::new().into() };
    // Besides the bytes: the tag, the length of the command, that there is no path, the length of nothing.
    let longest = MAX_CONTROL - 7;
    assert!(control::fits(&question(longest)) && !control::fits(&question(longest + 1)));
    let mut world = attached();
    let message = ToSupervisor::Resolve(question(longest));
    assert_eq!(control::encode(&message).len(), MAX_CONTROL);
    world.host.send(1, &message);
    while world.sup_got.control.is_empty() {
        world.step();
    }
}
