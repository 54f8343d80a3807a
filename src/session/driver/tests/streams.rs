//! Bytes of commands.

use std::sync::Arc;

use protocol::control::{FromSupervisor, OutputChannel, ToSupervisor};

use super::{COLLECT, STDOUT, World, fake::Heard};
use crate::session::{connector::JoinFailure, op::Op, output::Mode, request::Request};

#[tokio::test]
async fn c14_input_arrives_in_order_and_complete_and_then_its_end() {
    let world = World::new();
    let command = world.command(true, [COLLECT; 2]);
    let data: Vec<u8> = (0..3_000_000_u32).map(|at| at.to_le_bytes()[0] ^ at.to_le_bytes()[1]).collect();
    let mut rest = &data[command.write(&data)..];
    world.start(&command, true, [COLLECT; 2], 1000);
    let (id, _) = world.fake.start().await;
    let mut got = Vec::new();
    loop {
        match world.fake.heard().await {
            Heard::Data(at, bytes) => {
                assert_eq!(at, id);
                got.extend_from_slice(&bytes);
            }
            Heard::End => break,
            other => panic!("{other:?}"),
        }
        rest = &rest[command.write(rest)..];
        if rest.is_empty() {
            command.end_input();
        }
    }
    assert!(got == data, "{} of {} bytes", got.len(), data.len());
}

#[tokio::test]
async fn c14_a_writer_waits_while_the_program_does_not_read_and_hears_when_it_closed_its_input() {
    let mut world = World::new();
    let (id, command) = world.running_with(true, [COLLECT; 2], 1000).await;
    world.fake.say(id, &FromSupervisor::StdinClosed);
    let seen = Arc::clone(&command);
    world.until("a closed input", || seen.is_input_closed().then_some(())).await;
    assert_eq!(command.write(b"late"), 0);
}

#[tokio::test]
async fn c53_what_is_asked_of_a_terminal_comes_between_what_was_typed_before_and_after() {
    let mut world = World::new();
    let (id, command) = world.running_with(true, [COLLECT; 2], 1000).await;
    // On one thread the driver comes only at the next wait: all of this is there when it does.
    let request = Request::new(&world.wakes);
    command.write(&[b'a'; 50_000]);
    command.ask(|id| Op::Inspect(id, Arc::clone(&request)));
    command.write(b"bb");
    command.resize(5, 6);
    command.write(b"c");
    let mut order: Vec<(char, usize)> = Vec::new();
    while order.last() != Some(&('c', 1)) {
        match world.fake.heard().await {
            Heard::Data(at, bytes) => {
                assert_eq!(at, id);
                for byte in bytes {
                    match order.last_mut() {
                        Some((last, count)) if *last == char::from(byte) => *count += 1,
                        _ => order.push((byte.into(), 1)),
                    }
                }
            }
            Heard::Control(_, ToSupervisor::InspectForeground { .. }) => order.push(('?', 1)),
            Heard::Control(_, ToSupervisor::Resize { rows: 5, cols: 6 }) => order.push(('#', 1)),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(order, [('a', 50_000), ('?', 1), ('b', 2), ('#', 1), ('c', 1)]);
}

#[tokio::test]
async fn c15_an_unread_raw_output_holds_its_window_and_no_more_and_all_of_it_arrives() {
    let mut world = World::new();
    let (id, command) = world.running_with(false, [Mode::Raw; 2], 1000).await;
    let data: Vec<u8> = (0..6_000_000_u32).map(|at| at.to_le_bytes()[1]).collect();
    world.fake.write(id, STDOUT, &data);
    world.fake.write(id, OutputChannel::Stderr, b"meanwhile");
    let other = Arc::clone(&command);
    let said = world.until("the other output", || other.take(OutputChannel::Stderr, 100)).await;
    assert_eq!(said, b"meanwhile");
    let mut got = Vec::new();
    let reader = Arc::clone(&command);
    world.fake.end(id, STDOUT);
    world
        .until("the stream's end", || {
            while let Some(bytes) = reader.take(STDOUT, 100_000) {
                got.extend_from_slice(&bytes);
            }
            reader.is_over(STDOUT).then_some(())
        })
        .await;
    assert!(got == data, "{} of {} bytes", got.len(), data.len());
}

#[tokio::test]
async fn a_reader_that_goes_closes_the_programs_pipe_and_the_outcome_does_not_wait_for_it() {
    let mut world = World::new();
    let (id, command) = world.running_with(false, [Mode::Raw, COLLECT], 1000).await;
    world.fake.write(id, STDOUT, b"unread");
    command.close_output(STDOUT);
    assert!(matches!(world.fake.heard().await, Heard::Control(_, ToSupervisor::CloseOutput(STDOUT))));
    world.fake.end(id, OutputChannel::Stderr);
    world.exit(id, 0);
    world.outcome(&command).await.unwrap();
    assert!(command.is_over(STDOUT));
    assert_eq!(command.take(STDOUT, 10), None);
}

#[tokio::test]
async fn c15_an_output_that_was_closed_before_the_start_is_closed_in_the_sandbox_as_well() {
    let mut world = World::new();
    let command = world.command(false, [Mode::Raw; 2]);
    command.close_output(STDOUT);
    world.start(&command, false, [Mode::Raw; 2], 1000);
    let (id, _) = world.fake.start().await;
    assert!(matches!(world.fake.heard().await, Heard::Control(at, ToSupervisor::CloseOutput(STDOUT)) if at == id));
    assert!(command.is_over(STDOUT) && !command.has_ended(OutputChannel::Stderr));
    world.fake.write(id, STDOUT, b"unread");
    world.fake.end(id, OutputChannel::Stderr);
    world.exit(id, 0);
    world.outcome(&command).await.unwrap();
}

#[tokio::test]
async fn c15_an_output_that_was_closed_while_its_start_waited_is_closed_for_the_next_supervisor_too() {
    let mut world = World::new();
    world.running().await;
    world.fake.refuse(Some(JoinFailure { message: "not now".into(), is_final: false }));
    world.fake.die();
    world.fake.until_refused().await;
    let command = world.command(true, [Mode::Raw; 2]);
    world.start(&command, true, [Mode::Raw; 2], 1000);
    command.write(b"said before");
    command.end_input();
    command.close_output(OutputChannel::Stderr);
    let seen = Arc::clone(&command);
    world.until("the driver has heard it", || seen.has_ended(OutputChannel::Stderr).then_some(())).await;
    world.fake.refuse(None);
    assert!(matches!(world.fake.heard().await, Heard::Control(0, ToSupervisor::EndLost { .. })));
    let (id, _) = world.fake.start().await;
    assert!(matches!(
        world.fake.heard().await,
        Heard::Control(at, ToSupervisor::CloseOutput(OutputChannel::Stderr)) if at == id
    ));
    assert!(matches!(world.fake.heard().await, Heard::Data(at, bytes) if at == id && &bytes[..] == b"said before"));
    assert!(matches!(world.fake.heard().await, Heard::End), "what was said to its input stays said");
}

#[tokio::test]
async fn c18_collected_output_costs_its_window_whatever_its_size() {
    let mut world = World::new();
    let (id, command) = world.running().await;
    for _ in 0..64 {
        world.fake.write(id, STDOUT, &[b'x'; 65536]);
    }
    let reader = Arc::clone(&command);
    let total = 64 * 65536;
    // Consumed by the driver itself: nobody wakes the shim for it.
    let deadline = tokio::time::Instant::now() + super::PATIENCE;
    while reader.read_from(STDOUT, 0).unwrap().next < total {
        assert!(tokio::time::Instant::now() < deadline);
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    assert_eq!(command.memory(), 64);
}
