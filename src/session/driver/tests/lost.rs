//! What was lost with a killed supervisor.

use std::sync::Arc;

use protocol::{
    control::{Exit, FromSupervisor, LostSession, Output, Running, Stdio, Survivor, ToSupervisor},
    handshake::Settings,
};

use super::{
    COLLECT, PATIENCE, World,
    fake::{Fake, Heard},
};
use crate::session::{
    command::{Outcome, Tree},
    failure::Failure,
    request::{Answer, Request},
    settings::SessionSettings,
};

fn killed() -> Outcome {
    Outcome::signalled("SIGKILL")
}

impl World {
    /// The next wish, which must be about what was lost.
    async fn lost(&self) -> (Vec<u64>, Vec<LostSession>) {
        match self.fake.heard().await {
            Heard::Control(0, ToSupervisor::EndLost { epochs, sessions }) => (epochs, sessions),
            other => panic!("expected what was lost, heard {other:?}"),
        }
    }

    fn answer(&self, survivors: &[Survivor]) {
        self.fake.say(0, &FromSupervisor::LostEnded { survivors: survivors.to_vec() });
    }
}

fn survivor(command: u32, pid: u32, errno: i32) -> Survivor {
    Survivor { command, pid, uid: 0, start_time: 5, errno }
}

#[tokio::test]
async fn c35_a_command_of_a_killed_supervisor_is_over_once_the_next_one_says_that_nothing_of_it_lives() {
    let mut world = World::new();
    let (id, command) = world.running().await;
    world.fake.die();
    let (epochs, sessions) = world.lost().await;
    assert_eq!((epochs, sessions), (vec![1], vec![LostSession { command: id, pid: 1000 + id, start_time: 5 }]));
    // Something else runs meanwhile, and is answered later than what would settle the lost one.
    let (_, other) = world.running().await;
    assert_eq!((command.outcome(), command.tree()), (None, Tree::Alive));
    world.answer(&[]);
    assert_eq!(world.outcome(&command).await, Ok(killed()));
    assert_eq!(command.tree(), Tree::Gone);
    assert_eq!(other.outcome(), None);
    command.terminate();
    world.fake.die();
    let (epochs, _) = world.lost().await;
    assert_eq!(epochs, [2], "what is proven is not asked for again");
}

#[tokio::test]
async fn c35_a_command_whose_start_was_not_heard_of_is_lost_with_its_supervisors_life() {
    let mut world = World::new();
    let command = world.command(false, [COLLECT; 2]);
    world.start(&command, false, [COLLECT; 2], 1000);
    world.fake.start().await;
    world.fake.die();
    assert_eq!(world.lost().await, (vec![1], Vec::new()));
    world.answer(&[]);
    assert_eq!(world.outcome(&command).await, Ok(killed()));
    assert_eq!(command.tree(), Tree::Gone);
    assert!(!command.is_started());
    assert_eq!(command.lost(), Some(Failure::Killed), "nobody called it off");
}

#[tokio::test]
async fn c35_c20_a_command_of_a_killed_supervisor_that_had_exited_keeps_its_outcome() {
    let mut world = World::new();
    let (id, command) = world.running().await;
    world.fake.say(id, &FromSupervisor::Exited(Exit::Code(3)));
    // Said in this order, so heard in this order.
    let (_, other) = world.running().await;
    assert_eq!(command.outcome(), None, "its output has not ended");
    world.fake.die();
    world.lost().await;
    world.answer(&[]);
    assert_eq!(world.outcome(&command).await, Ok(Outcome { exit_code: Some(3), signal: None }));
    assert_eq!(world.outcome(&other).await, Ok(killed()));
}

#[tokio::test]
async fn c35_c80_a_command_that_was_found_again_is_lost_by_its_identity_like_one_that_was_started_here() {
    let settings = SessionSettings { supervisor: Settings::default(), lost_after: PATIENCE, resumes: true };
    let mut world = World::with_settings(Fake::new(), settings);
    let list = Request::new(&world.wakes);
    world.session.list_running(&list);
    assert!(matches!(world.fake.heard().await, Heard::Control(0, ToSupervisor::ListRunning)));
    let stdio = Stdio::Pipes { stdin: false, stdout: Output::Raw, stderr: Output::Raw };
    let argv = vec![b"prog".to_vec().into()];
    let found = Running { command: 3, pid: 1003, start_time: 77, argv, stdio, offsets: [0, 0] };
    world.fake.say(0, &FromSupervisor::Running(vec![found]));
    world.until("the list", || list.take()).await.unwrap();
    let command = world.command(false, [COLLECT; 2]);
    world.session.adopt(3, 4711, &command, 1000);
    let seen = Arc::clone(&command);
    world.until("its adoption", || seen.is_started().then_some(())).await;
    world.fake.die();
    let (epochs, sessions) = world.lost().await;
    assert_eq!((epochs, sessions), (vec![1], vec![LostSession { command: 3, pid: 1003, start_time: 77 }]));
    world.answer(&[]);
    assert_eq!(world.outcome(&command).await, Ok(killed()));
    assert_eq!(command.tree(), Tree::Gone);
}

#[tokio::test]
async fn c35_when_the_next_supervisor_is_killed_as_well_the_one_after_it_is_asked() {
    let mut world = World::new();
    let (id, command) = world.running().await;
    world.fake.die();
    world.lost().await;
    world.fake.die();
    let (epochs, sessions) = world.lost().await;
    assert_eq!(epochs, [1, 2]);
    assert_eq!(sessions.len(), 1);
    assert_eq!(sessions[0].command, id);
    world.answer(&[]);
    assert_eq!(world.outcome(&command).await, Ok(killed()));
}

#[tokio::test]
async fn c30_a_lost_member_of_another_user_is_ended_by_root_before_the_supervisor_looks_again() {
    let mut world = World::new();
    let (id, command) = world.running().await;
    world.fake.die();
    world.lost().await;
    world.answer(&[survivor(id, 9, 1), survivor(0, 10, 1)]);
    world.lost().await;
    assert_eq!(world.fake.ended_as_root(), [(9, 5), (10, 5)]);
    assert_eq!(command.outcome(), None);
    world.answer(&[]);
    assert_eq!(world.outcome(&command).await, Ok(killed()));
    assert_eq!(command.tree(), Tree::Gone);
}

#[tokio::test]
async fn c32_what_cannot_be_ended_shows_and_can_be_tried_again() {
    let mut world = World::new();
    let (id, command) = world.running().await;
    let (_, other) = world.running().await;
    world.fake.die();
    world.lost().await;
    let stuck = survivor(id, 9, 110);
    world.answer(std::slice::from_ref(&stuck));
    assert_eq!(world.outcome(&command).await, Ok(killed()), "its own process has ended");
    assert_eq!(world.tree(&command).await, Tree::Stuck(Failure::Survived(vec![stuck])));
    assert_eq!(world.tree(&other).await, Tree::Gone);
    command.terminate();
    let (epochs, sessions) = world.lost().await;
    assert_eq!((epochs.len(), sessions.len()), (1, 1));
    // Now it is its own process: how that ends is not known.
    world.answer(&[survivor(id, 1000 + id, 110)]);
    world.tree(&command).await;
    command.terminate();
    world.lost().await;
    world.answer(&[]);
    assert_eq!(world.tree(&command).await, Tree::Gone);
}

#[tokio::test]
async fn c60_a_shutdown_is_not_clean_while_something_lost_survives() {
    let mut world = World::new();
    let (id, command) = world.running().await;
    world.fake.die();
    world.lost().await;
    let stuck = survivor(id, 9, 110);
    world.answer(std::slice::from_ref(&stuck));
    world.tree(&command).await;
    let request = Request::new(&world.wakes);
    world.session.shut_down(&request);
    world.lost().await;
    assert!(matches!(world.fake.heard().await, Heard::Control(0, ToSupervisor::Shutdown)));
    world.answer(std::slice::from_ref(&stuck));
    world.fake.say(0, &FromSupervisor::Ended { survivors: Vec::new() });
    world.fake.until_acknowledged().await;
    world.fake.cut();
    let asked = Arc::clone(&request);
    let answer: Result<Answer, Failure> = world.until("the answer", || asked.take()).await;
    assert_eq!(answer, Err(Failure::Survived(vec![stuck])));
}
