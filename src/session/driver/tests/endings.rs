//! How commands end.

use std::{sync::Arc, time::Duration};

use protocol::{
    control::{
        Exit, FromSupervisor, Output, Resolve, SignalFailure, Start, StartFailure, StartStage, Stdio, Survivor,
        ToSupervisor,
    },
    wire::MAX_CONTROL,
};

use super::{COLLECT, STDOUT, World, fake::Heard};
use crate::session::{
    command::{Outcome, Tree},
    failure::Failure,
    op::Op,
    output::Mode,
    request::{Answer, Request},
};

fn code(code: u8) -> Outcome {
    Outcome { exit_code: Some(code), signal: None }
}

#[tokio::test]
async fn c20_the_outcome_comes_when_the_process_and_its_collected_outputs_have_ended() {
    let mut world = World::new();
    let (id, command) = world.running().await;
    world.fake.write(id, STDOUT, b"hello");
    world.exit(id, 7);
    world.fake.end(id, STDOUT);
    let reader = Arc::clone(&command);
    world.until("the bytes", || (reader.read_from(STDOUT, 0)?.bytes == b"hello").then_some(())).await;
    assert_eq!(command.outcome(), None, "standard error is open");
    world.fake.end(id, protocol::control::OutputChannel::Stderr);
    assert_eq!(world.outcome(&command).await, Ok(code(7)));
    assert_eq!(command.tree(), Tree::Alive);
    world.fake.say(id, &FromSupervisor::Gone);
    assert_eq!(world.tree(&command).await, Tree::Gone);
    assert_eq!(world.wakes.live(), 0);
}

#[tokio::test]
async fn c20_a_death_by_signal_has_the_signals_name() {
    let mut world = World::new();
    let (id, command) = world.running().await;
    world.fake.end_outputs(id);
    world.fake.say(id, &FromSupervisor::Exited(Exit::Signal { number: 11, core: true }));
    assert_eq!(world.outcome(&command).await, Ok(Outcome::signalled("SIGSEGV")));
}

#[tokio::test]
async fn c21_a_start_that_failed_rejects_as_node_does_and_leaves_nothing() {
    let mut world = World::new();
    let command = world.command(false, [Mode::Raw; 2]);
    world.start(&command, false, [Mode::Raw; 2], 1000);
    let (id, _) = world.fake.start().await;
    let failure = StartFailure { errno: 2, stage: StartStage::Exec };
    world.fake.say(id, &FromSupervisor::StartFailed(failure.clone()));
    assert_eq!(world.outcome(&command).await, Err(Failure::Start { program: "prog".into(), failure }));
    assert_eq!(command.tree(), Tree::Gone);
    assert_eq!(command.pid(), None);
    assert!(command.is_over(STDOUT));
}

#[tokio::test]
async fn c21_words_that_are_too_many_to_be_sent_are_refused_as_the_kernel_would_and_the_line_stays() {
    let mut world = World::new();
    let (id, running) = world.running().await;
    let long = || vec![b'x'; MAX_CONTROL].into();
    let output = || Output::Drained { spill: None };
    let start = Start {
        argv: vec![b"prog".to_vec().into()],
        cwd: b"/".to_vec().into(),
        env: Vec::new(),
        grace_ms: 1000,
        prepared: None,
        stdio: Stdio::Pipes { stdin: false, stdout: output(), stderr: output() },
    };
    let cases = [
        (Start { argv: vec![b"prog".to_vec().into(), long()], ..start.clone() }, 7, StartStage::Exec),
        (Start { env: vec![(b"A".to_vec().into(), Some(long()))], ..start.clone() }, 7, StartStage::Exec),
        (Start { cwd: long(), ..start }, 36, StartStage::Cwd),
    ];
    for (start, errno, stage) in cases {
        let command = world.command(false, [COLLECT; 2]);
        world.session.start(&command, start);
        let failure = StartFailure { errno, stage };
        assert_eq!(world.outcome(&command).await, Err(Failure::Start { program: "prog".into(), failure }));
        command.terminate();
        assert_eq!((command.tree(), command.pid()), (Tree::Gone, None));
    }
    let request = Request::new(&world.wakes);
    let question = Resolve { command: b"x".to_vec().into(), path: Some(long()), cwd: b"/".to_vec().into() };
    world.session.resolve(&request, question);
    let answer = world.until("an answer", || request.take()).await;
    assert_eq!(answer, Err(Failure::TooLong));
    assert!(world.fake.heard_nothing().await);
    world.fake.say(id, &FromSupervisor::Exited(Exit::Code(0)));
    world.fake.end_outputs(id);
    assert_eq!(world.outcome(&running).await, Ok(code(0)));
}

#[tokio::test]
async fn c22_a_raw_pipe_that_somebody_holds_is_waited_for_until_the_end_is_asked_for_and_the_grace_is_over() {
    let mut world = World::new();
    let (id, command) = world.running_with(false, [Mode::Raw; 2], 200).await;
    world.exit(id, 0);
    world.fake.write(id, STDOUT, b"x");
    let reader = Arc::clone(&command);
    world.until("a byte after the exit", || reader.take(STDOUT, 10)).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(command.outcome(), None, "lossless: the stream is not complete");
    command.terminate();
    assert_eq!(world.outcome(&command).await, Ok(code(0)));
    assert!(!command.is_over(STDOUT), "the stream goes on");
}

#[tokio::test]
async fn c22_what_the_last_member_of_a_tree_wrote_comes_before_the_outcome_however_long_ago_the_exit_was() {
    let mut world = World::new();
    let (id, command) = world.running_with(false, [Mode::Raw; 2], 300).await;
    world.exit(id, 0);
    tokio::time::sleep(Duration::from_millis(400)).await;
    world.fake.say(id, &FromSupervisor::Gone);
    let watched = Arc::clone(&command);
    world.until("the end of the tree", || (watched.tree() == Tree::Gone).then_some(())).await;
    assert_eq!(command.outcome(), None, "its streams are on their way");
    world.fake.write(id, STDOUT, b"last");
    world.fake.end_outputs(id);
    assert_eq!(world.outcome(&command).await, Ok(code(0)));
    assert_eq!(command.take(STDOUT, 10).as_deref(), Some(b"last".as_slice()));
    assert!(command.is_over(STDOUT));
}

#[tokio::test]
async fn c15_a_stalled_reader_of_a_raw_pipe_does_not_hold_the_outcome_of_a_tree_that_is_gone() {
    let mut world = World::new();
    let (id, command) = world.running_with(false, [Mode::Raw; 2], 50).await;
    // More than its window, and nobody reads.
    world.fake.write(id, STDOUT, &vec![7; 1 << 20]);
    world.fake.end_outputs(id);
    world.exit(id, 5);
    world.fake.say(id, &FromSupervisor::Gone);
    assert_eq!(world.outcome(&command).await, Ok(code(5)));
    assert_eq!(command.tree(), Tree::Gone);
    let mut got = 0;
    let reader = Arc::clone(&command);
    world
        .until("the whole stream, late", || {
            while let Some(bytes) = reader.take(STDOUT, 64 * 1024) {
                got += bytes.len();
            }
            reader.is_over(STDOUT).then_some(())
        })
        .await;
    assert_eq!(got, 1 << 20);
}

#[tokio::test]
async fn c30_termination_is_asked_of_the_supervisor_and_its_failure_shows_and_can_be_tried_again() {
    let mut world = World::new();
    world.fake.refuse_root();
    let (id, command) = world.running().await;
    command.terminate();
    assert!(matches!(world.fake.heard().await, Heard::Control(at, ToSupervisor::Terminate) if at == id));
    let survivor = Survivor { command: id, pid: 9, uid: 0, start_time: 1, errno: 1 };
    world.fake.say(id, &FromSupervisor::CleanupFailed(survivor.clone()));
    assert_eq!(world.tree(&command).await, Tree::Stuck(Failure::Survived(vec![survivor])));
    command.terminate();
    assert!(matches!(world.fake.heard().await, Heard::Control(_, ToSupervisor::Terminate)));
    world.fake.say(id, &FromSupervisor::Gone);
    assert_eq!(world.tree(&command).await, Tree::Gone);
    command.terminate();
    world.exit(id, 0);
    world.fake.end_outputs(id);
    world.outcome(&command).await.unwrap();
    assert!(world.fake.heard_nothing().await, "a no-op for ever");
}

#[tokio::test]
async fn c30_a_member_of_another_user_is_ended_by_root_and_then_the_supervisor_looks_again() {
    let mut world = World::new();
    let (id, command) = world.running().await;
    command.terminate();
    assert!(matches!(world.fake.heard().await, Heard::Control(_, ToSupervisor::Terminate)));
    let survivor = |pid| Survivor { command: id, pid, uid: 0, start_time: 5, errno: 1 };
    for pid in [9, 10] {
        world.fake.say(id, &FromSupervisor::CleanupFailed(survivor(pid)));
        assert!(matches!(world.fake.heard().await, Heard::Control(at, ToSupervisor::Terminate) if at == id));
    }
    assert_eq!(command.tree(), Tree::Alive);
    assert_eq!(world.fake.ended_as_root(), [(9, 5), (10, 5)]);
    // One that root could not end either is not asked for again and again.
    world.fake.say(id, &FromSupervisor::CleanupFailed(survivor(9)));
    assert_eq!(world.tree(&command).await, Tree::Stuck(Failure::Survived(vec![survivor(9)])));
    assert_eq!(world.fake.ended_as_root().len(), 2);
}

#[tokio::test]
async fn c53_members_of_another_user_get_a_signal_by_root_and_without_it_the_kernels_word_counts() {
    let mut world = World::new();
    let (id, command) = world.running().await;
    let ask = async |world: &mut World, reached: bool| {
        let asked = Request::new(&world.wakes);
        assert!(command.ask(|id| Op::Signal(id, Arc::clone(&asked), 15)));
        let Heard::Control(_, ToSupervisor::SignalForeground { request, signal }) = world.fake.heard().await else {
            panic!("a signal")
        };
        let denied = SignalFailure::Denied { group: 70, reached, signal, members: vec![(71, 5), (72, 6)] };
        world.fake.say(id, &FromSupervisor::ForegroundSignalled { request, result: Err(denied) });
        world.until("the answer", || asked.take()).await
    };
    assert_eq!(ask(&mut world, false).await, Ok(Answer::Group(70)));
    assert_eq!(world.fake.signalled_as_root(), [(15, vec![(71, 5), (72, 6)])]);
    world.fake.refuse_root();
    assert_eq!(ask(&mut world, false).await, Err(Failure::Signal(1)));
    assert_eq!(ask(&mut world, true).await, Ok(Answer::Group(70)), "one of the group has it");
}

#[tokio::test]
async fn c30_a_start_that_was_called_off_in_the_sandbox_ends_as_terminated() {
    let mut world = World::new();
    let command = world.command(false, [COLLECT; 2]);
    world.start(&command, false, [COLLECT; 2], 1000);
    let (id, _) = world.fake.start().await;
    command.terminate();
    world.fake.say(id, &FromSupervisor::StartFailed(StartFailure { errno: 125, stage: StartStage::Cancelled }));
    assert_eq!(world.outcome(&command).await, Ok(Outcome::signalled("SIGTERM")));
}

#[tokio::test]
async fn c11_the_handle_shows_a_prepared_id_at_once_and_follows_when_it_runs_under_another() {
    let mut world = World::new();
    world.fake.say(0, &FromSupervisor::Prepared { pids: vec![501] });
    let session = Arc::clone(&world.session);
    let deadline = tokio::time::Instant::now() + super::PATIENCE;
    let reserved = loop {
        if let Some(reserved) = session.reserve() {
            break Some(reserved);
        }
        assert!(tokio::time::Instant::now() < deadline, "a prepared id");
        tokio::time::sleep(Duration::from_millis(1)).await;
    };
    let command = crate::session::command::Command::new(
        Arc::clone(&world.wakes),
        "prog".into(),
        false,
        [Some(COLLECT), Some(COLLECT)],
        reserved,
    );
    assert_eq!(command.pid(), Some(501));
    world.start(&command, false, [COLLECT; 2], 1000);
    let (id, start) = world.fake.start().await;
    assert_eq!(start.prepared, Some(501));
    world.fake.say(id, &FromSupervisor::Started { pid: 777, start_time: 5, spill: [None, None] });
    let seen = Arc::clone(&command);
    world.until("the new id", || (seen.pid() == Some(777)).then_some(())).await;
}

#[tokio::test]
async fn d22_an_id_that_would_signal_everybody_is_not_believed() {
    for pid in [0, 1, u32::MAX] {
        let mut world = World::new();
        let command = world.command(false, [COLLECT; 2]);
        world.start(&command, false, [COLLECT; 2], 1000);
        let (id, _) = world.fake.start().await;
        world.fake.say(id, &FromSupervisor::Started { pid, start_time: 5, spill: [None, None] });
        assert!(matches!(world.outcome(&command).await, Err(Failure::Delivery(_))));
        assert_eq!(command.pid(), None.or(command.pid()).filter(|pid| *pid > 1));
    }
}

#[tokio::test]
async fn j6_nonsense_from_the_supervisor_is_a_rejection_with_a_cause() {
    let mut world = World::new();
    let (id, command) = world.running().await;
    world.fake.babble(id);
    let failure = world.outcome(&command).await.unwrap_err();
    assert!(failure.to_string().contains("sent a message that is none"), "{failure}");
    assert!(matches!(command.tree(), Tree::Stuck(_)), "nobody knows");
}

#[tokio::test]
async fn c60_a_shutdown_is_answered_when_the_supervisor_says_that_all_is_ended() {
    let mut world = World::new();
    let (_, command) = world.running().await;
    let request = Request::new(&world.wakes);
    world.session.shut_down(&request);
    assert!(matches!(world.fake.heard().await, Heard::Control(0, ToSupervisor::Shutdown)));
    world.fake.say(0, &FromSupervisor::Ended { survivors: Vec::new() });
    world.fake.until_acknowledged().await;
    assert_eq!(request.take(), None, "it is still going");
    world.fake.cut();
    let asked = Arc::clone(&request);
    assert_eq!(world.until("the answer", || asked.take()).await, Ok(Answer::Done));
    assert_eq!(world.outcome(&command).await, Ok(Outcome::signalled("SIGKILL")));
    assert_eq!(world.wakes.live(), 0);
    let late = world.command(false, [COLLECT; 2]);
    world.start(&late, false, [COLLECT; 2], 1000);
    assert_eq!(world.outcome(&late).await, Err(Failure::Closed));
}

#[tokio::test]
async fn c17_the_spill_file_is_shown_by_the_supervisors_word() {
    let mut world = World::new();
    let modes = [Mode::Tail { window: 4, spill: Some(100) }, COLLECT];
    let command = world.command(false, modes);
    world.start(&command, false, modes, 1000);
    let (id, _) = world.fake.start().await;
    let path = b"/r/spill".to_vec().into();
    world.fake.say(id, &FromSupervisor::Started { pid: 500, start_time: 5, spill: [Some(path), None] });
    world.fake.write(id, STDOUT, b"0123456789");
    world.fake.say(id, &FromSupervisor::Spilled { output: STDOUT, offset: 10 });
    let seen = Arc::clone(&command);
    let read =
        world.until("a complete file", || seen.read_from(STDOUT, 0).filter(|read| read.spill_path.is_some())).await;
    assert_eq!((&read.bytes[..], read.next, read.lossy), (&b"6789"[..], 10, true));
    assert_eq!(read.spill_path.as_deref(), Some("/r/spill"));
    // Ended by the fake without a kept file.
    world.fake.end(id, STDOUT);
    let seen = Arc::clone(&command);
    world.until("no file", || seen.read_from(STDOUT, 0).filter(|read| read.spill_path.is_none())).await;
}
