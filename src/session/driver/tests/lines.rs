//! Connections that break, sandboxes that go.

use std::{sync::Arc, time::Duration};

use protocol::control::{FromSupervisor, Resolve, ToSupervisor};

use super::{
    COLLECT, STDOUT, World,
    fake::{Fake, Heard},
};
use crate::session::{
    command::{Outcome, Tree},
    connector::{JoinFailure, SandboxState},
    failure::Failure,
    output::Mode,
    request::{Answer, Request},
};

fn failing(is_final: bool) -> Option<JoinFailure> {
    Some(JoinFailure { message: "no way".into(), is_final })
}

#[tokio::test]
async fn h3_bytes_go_on_from_where_they_were_when_the_connection_is_cut_again_and_again() {
    let mut world = World::new();
    let (id, command) = world.running_with(true, [Mode::Raw, COLLECT], 1000).await;
    let mut expected = Vec::new();
    let mut got = Vec::new();
    for round in 0..40_u8 {
        let piece = vec![round; 50_000];
        world.fake.write(id, STDOUT, &piece);
        expected.extend_from_slice(&piece);
        if round % 2 == 0 {
            world.fake.cut();
        }
        let reader = Arc::clone(&command);
        let want = expected.len();
        world
            .until("the piece", || {
                while let Some(bytes) = reader.take(STDOUT, 1 << 20) {
                    got.extend_from_slice(&bytes);
                }
                (got.len() >= want).then_some(())
            })
            .await;
    }
    assert!(got == expected);
    assert!(world.fake.joins() >= 20);
    assert_eq!(command.outcome(), None);
}

#[tokio::test]
async fn h10_a_start_whose_connection_broke_is_heard_once() {
    let mut world = World::new();
    let (_, first) = world.running().await;
    world.fake.cut();
    let command = world.command(false, [COLLECT; 2]);
    world.start(&command, false, [COLLECT; 2], 1000);
    let (id, _) = world.fake.start().await;
    world.fake.cut();
    world.fake.say(id, &FromSupervisor::Started { pid: 600, start_time: 5, spill: [None, None] });
    let seen = Arc::clone(&command);
    world.until("the start", || seen.is_started().then_some(())).await;
    assert!(world.fake.heard_nothing().await, "not a second time");
    drop(first);
}

#[tokio::test]
async fn c24_a_sandbox_that_the_control_plane_does_not_know_any_more_ends_its_commands_as_killed() {
    let mut world = World::new();
    let (_, command) = world.running().await;
    let request = Request::new(&world.wakes);
    world.fake.sandbox_is(SandboxState::Gone);
    world.fake.refuse(failing(false));
    world.fake.cut();
    assert_eq!(world.outcome(&command).await, Ok(Outcome::signalled("SIGKILL")));
    assert_eq!(command.tree(), Tree::Gone);
    command.terminate();
    world.session.shut_down(&request);
    let asked = Arc::clone(&request);
    assert_eq!(world.until("the answer", || asked.take()).await, Ok(Answer::Done));
    let late = world.command(false, [COLLECT; 2]);
    world.start(&late, false, [COLLECT; 2], 1000);
    assert_eq!(world.outcome(&late).await, Err(Failure::Gone("isandbox".into())));
    assert_eq!(late.tree(), Tree::Gone);
}

#[tokio::test]
async fn c24_a_broken_line_alone_ends_nothing() {
    let mut world = World::new();
    let (id, command) = world.running().await;
    world.fake.refuse(failing(false));
    world.fake.cut();
    world.fake.until_refused().await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(command.outcome(), None);
    world.fake.refuse(None);
    world.fake.end_outputs(id);
    world.exit(id, 0);
    assert_eq!(world.outcome(&command).await, Ok(Outcome { exit_code: Some(0), signal: None }));
}

#[tokio::test]
async fn c22_a_line_that_is_cut_or_slow_ends_nobodys_patience_with_a_raw_pipe() {
    let mut world = World::new();
    let (id, command) = world.running_with(false, [Mode::Raw; 2], 300).await;
    world.exit(id, 0);
    world.fake.say(id, &FromSupervisor::Gone);
    let watched = Arc::clone(&command);
    world.until("the end of the tree", || (watched.tree() == Tree::Gone).then_some(())).await;
    world.fake.refuse(failing(false));
    world.fake.cut();
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(command.outcome(), None, "nobody holds it");
    world.fake.refuse(None);
    let reader = Arc::clone(&command);
    // Piece by piece, each within the grace, all of them not.
    for _ in 0..4 {
        world.fake.write(id, STDOUT, b"x");
        let reader = Arc::clone(&reader);
        world.until("a piece", || reader.take(STDOUT, 10)).await;
        tokio::time::sleep(Duration::from_millis(150)).await;
        assert_eq!(command.outcome(), None, "it comes");
    }
    assert_eq!(
        world.outcome(&command).await,
        Ok(Outcome { exit_code: Some(0), signal: None }),
        "and a holder is not waited for"
    );
    assert!(!command.is_over(STDOUT));
}

#[tokio::test]
async fn c82_a_sandbox_that_stays_unreachable_is_given_up_and_says_why() {
    let mut world = World::lost_after(Duration::from_millis(300));
    let (_, command) = world.running().await;
    world.fake.refuse(failing(false));
    world.fake.cut();
    let failure = world.outcome(&command).await.unwrap_err();
    assert!(matches!(&failure, Failure::Lost { reason, .. } if reason == "no way"), "{failure:?}");
    assert_eq!(command.tree(), Tree::Stuck(failure));
    assert_eq!(world.wakes.live(), 0);
}

#[tokio::test]
async fn c32_what_was_given_up_can_be_ended_when_the_sandbox_is_back_and_new_commands_run_there() {
    let mut world = World::lost_after(Duration::from_millis(300));
    let (id, command) = world.running().await;
    world.fake.refuse(failing(false));
    world.fake.cut();
    let failure = world.outcome(&command).await.unwrap_err();
    let unheard = world.command(false, [COLLECT; 2]);
    world.start(&unheard, false, [COLLECT; 2], 1000);
    assert!(
        matches!(world.outcome(&unheard).await, Err(Failure::Lost { .. })),
        "it was tried again for the new command"
    );
    assert_eq!(unheard.tree(), Tree::Gone);
    world.fake.refuse(None);
    command.terminate();
    assert!(matches!(world.fake.heard().await, Heard::Control(at, ToSupervisor::Terminate) if at == id));
    world.fake.say(id, &FromSupervisor::Gone);
    assert_eq!(world.tree(&command).await, Tree::Gone);
    assert_eq!(command.outcome(), Some(Err(failure)), "said once");
    let (_, next) = world.running().await;
    assert!(next.is_started());
}

#[tokio::test]
async fn an_attempt_that_is_not_answered_is_given_up_like_a_silent_connection() {
    let mut world = World::silent_after(Duration::from_millis(200));
    let (id, command) = world.running().await;
    world.fake.swallow_joins(true);
    world.fake.cut();
    let joins = world.fake.joins();
    let fake = world.fake.clone();
    tokio::time::timeout(super::PATIENCE, async {
        while fake.joins() < joins + 2 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await
    .unwrap();
    world.fake.swallow_joins(false);
    world.fake.end_outputs(id);
    world.exit(id, 6);
    assert_eq!(world.outcome(&command).await, Ok(Outcome { exit_code: Some(6), signal: None }));
}

#[tokio::test]
async fn c82_a_paused_sandbox_is_waited_for() {
    let mut world = World::lost_after(Duration::from_millis(200));
    let (id, command) = world.running().await;
    world.fake.sandbox_is(SandboxState::Paused);
    world.fake.refuse(failing(false));
    world.fake.cut();
    tokio::time::sleep(Duration::from_millis(700)).await;
    assert_eq!(command.outcome(), None);
    world.fake.refuse(None);
    world.fake.end_outputs(id);
    world.exit(id, 4);
    assert_eq!(world.outcome(&command).await, Ok(Outcome { exit_code: Some(4), signal: None }));
}

#[tokio::test]
async fn a_supervisor_that_can_never_run_there_fails_its_commands_at_once() {
    let fake = Fake::new();
    fake.refuse(failing(true));
    let mut world = World::with(fake, Duration::from_secs(60));
    let command = world.command(false, [COLLECT; 2]);
    world.start(&command, false, [COLLECT; 2], 1000);
    assert_eq!(world.outcome(&command).await, Err(Failure::Delivery("no way".into())));
    assert_eq!(command.tree(), Tree::Gone);
}

#[tokio::test]
async fn c35_a_killed_supervisor_ends_what_it_ran_and_what_it_never_heard_runs_under_the_next() {
    let mut world = World::new();
    let (_, heard) = world.running().await;
    world.fake.refuse(failing(false));
    world.fake.die();
    world.fake.until_refused().await;
    let unheard = world.command(false, [COLLECT; 2]);
    world.start(&unheard, false, [COLLECT; 2], 1000);
    let request = Request::new(&world.wakes);
    world.session.resolve(&request, Resolve { command: b"sh".to_vec().into(), path: None, cwd: b"/".to_vec().into() });
    world.fake.refuse(None);
    let mut resolve = None;
    let mut start = None;
    while resolve.is_none() || start.is_none() {
        match world.fake.heard().await {
            Heard::Control(id, ToSupervisor::Start(_)) => start = Some(id),
            Heard::Control(id, ToSupervisor::Resolve(_)) => resolve = Some(id),
            Heard::Control(0, ToSupervisor::EndLost { .. }) => {
                world.fake.say(0, &FromSupervisor::LostEnded { survivors: Vec::new() })
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(world.outcome(&heard).await, Ok(Outcome::signalled("SIGKILL")));
    assert_eq!(heard.tree(), Tree::Gone);
    world.fake.say(resolve.unwrap(), &FromSupervisor::Resolved(Ok(b"/bin/sh".to_vec().into())));
    let asked = Arc::clone(&request);
    assert_eq!(world.until("the path", || asked.take()).await, Ok(Answer::Path("/bin/sh".into())));
    let id = start.unwrap();
    world.fake.say(id, &FromSupervisor::Started { pid: 900, start_time: 5, spill: [None, None] });
    world.fake.end_outputs(id);
    world.exit(id, 0);
    assert_eq!(world.outcome(&unheard).await, Ok(Outcome { exit_code: Some(0), signal: None }));
}

#[tokio::test]
async fn a_daemon_without_streaming_input_is_spoken_to_in_single_requests() {
    let fake = Fake::new();
    fake.without_streaming();
    let mut world = World::with(fake, Duration::from_secs(60));
    let (id, command) = world.running().await;
    assert!(world.fake.unary_messages() > 0);
    world.fake.cut();
    world.fake.end_outputs(id);
    world.exit(id, 3);
    assert_eq!(world.outcome(&command).await, Ok(Outcome { exit_code: Some(3), signal: None }));
}

#[tokio::test]
async fn c30_what_was_never_sent_is_called_off_without_the_sandbox() {
    let fake = Fake::new();
    fake.refuse(failing(false));
    let mut world = World::with(fake, Duration::from_secs(60));
    let command = world.command(false, [COLLECT; 2]);
    world.start(&command, false, [COLLECT; 2], 1000);
    command.terminate();
    assert_eq!(world.outcome(&command).await, Ok(Outcome::signalled("SIGTERM")));
    assert_eq!(command.tree(), Tree::Gone);
    world.fake.refuse(None);
    let (_, other) = world.running().await;
    assert!(other.is_started(), "and nothing of it is heard later");
}

#[tokio::test]
async fn nobody_is_left_waiting_when_the_service_lets_go() {
    let mut world = World::new();
    let (_, command) = world.running().await;
    world.session.close();
    assert_eq!(world.outcome(&command).await, Err(Failure::Closed));
    assert_eq!(world.wakes.live(), 0);
}
