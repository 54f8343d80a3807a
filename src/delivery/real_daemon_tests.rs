//! Against a real daemon; see `envd::real_daemon_tests`. A shell script stands for the supervisor.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::future::poll_fn;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::time::timeout;

use super::{Delivery, DeliveryError, DeliverySettings, Machine, SupervisorBinary, binary::tests::fake};
use crate::envd::{Envd, Event, Start, real_daemon_tests::real_facts, test_delay::delayed};

const LIMIT: Duration = Duration::from_secs(30);
/// Says that it is there and how it was called, then echoes.
const ECHO: &[u8] = b"#!/bin/sh\necho \"ready $*\"\necho noise >&2\nexec cat\n";

fn here() -> Machine {
    if cfg!(target_arch = "aarch64") { Machine::Aarch64 } else { Machine::X86_64 }
}

fn other() -> Machine {
    if here() == Machine::X86_64 { Machine::Aarch64 } else { Machine::X86_64 }
}

struct Case {
    envd: Envd,
    settings: DeliverySettings,
}

impl Case {
    fn new(name: &str, binaries: Vec<SupervisorBinary>) -> Self {
        let root = format!("/tmp/dsh-delivery-{}/{name}", std::process::id());
        let argv = vec!["join".into(), root.clone()];
        let envd = Envd::new(real_facts()).unwrap();
        Self {
            envd,
            settings: DeliverySettings { binaries, installed: None, root, argv, timeout: LIMIT, silence: LIMIT },
        }
    }

    fn delivery(&self) -> Delivery {
        Delivery::new(self.envd.clone(), self.settings.clone())
    }

    async fn sh(&self, script: &str) -> String {
        let args = vec!["-c".into(), script.into(), "sh".into(), self.settings.root.clone()];
        let mut process = self.envd.start(Start { cmd: "/bin/sh".into(), args, ..Start::default() }).await.unwrap();
        let mut out = Vec::new();
        loop {
            match timeout(LIMIT, process.output.next()).await.unwrap().unwrap().unwrap() {
                Event::Stdout(bytes) | Event::Stderr(bytes) => out.extend_from_slice(&bytes),
                Event::Ended(_) => return String::from_utf8(out).unwrap().trim().to_owned(),
            }
        }
    }

    /// Waits until the root holds exactly the files that `want` says.
    async fn holds(&self, want: &str) {
        let start = Instant::now();
        loop {
            let names = self.sh("ls -A \"$1\"").await;
            if names == want {
                break;
            }
            assert!(start.elapsed() < LIMIT, "{names:?}, not {want:?}");
        }
    }

    async fn end(self) {
        self.envd.remove(&self.settings.root).await.unwrap();
    }
}

/// Attaches, checks the first word and an echo over both ways up.
async fn attach(delivery: &Delivery) {
    let mut attachment = delivery.attach().await.unwrap();
    let root = format!("ready join {}\n", delivery_root(delivery));
    assert_eq!(timeout(LIMIT, poll_fn(|cx| attachment.output.poll_next(cx))).await.unwrap().unwrap(), root);
    let (sink, _outcome) = attachment.stream_input();
    sink.send(Bytes::from_static(b"one")).await.unwrap();
    assert_eq!(timeout(LIMIT, poll_fn(|cx| attachment.output.poll_next(cx))).await.unwrap().unwrap(), "one");
    attachment.unary_input().send(Bytes::from_static(b"two")).await.unwrap();
    assert_eq!(timeout(LIMIT, poll_fn(|cx| attachment.output.poll_next(cx))).await.unwrap().unwrap(), "two");
    Envd::new(real_facts()).unwrap().kill(attachment.pid).await.unwrap();
    let end = timeout(LIMIT, poll_fn(|cx| attachment.output.poll_next(cx))).await.unwrap().unwrap_err();
    assert!(matches!(&end, DeliveryError::Ended { stderr: Some(text), .. } if text == "noise"), "{end:?}");
}

fn delivery_root(delivery: &Delivery) -> String {
    delivery.settings().root.clone()
}

#[tokio::test]
#[ignore = "needs a real daemon"]
async fn the_first_attach_delivers_the_next_one_starts_at_once_and_a_lost_binary_is_brought_again() {
    let case = Case::new("first", vec![fake(here(), ECHO, "aaaaaaaaaaaaaaaa")]);
    let delivery = case.delivery();
    attach(&delivery).await;
    case.holds(".supervisor-aaaaaaaaaaaa").await;
    assert_eq!(case.sh("stat -c %a:%U \"$1\" \"$1\"/.s*").await, "700:user\n700:user");
    attach(&delivery).await;
    case.sh("rm \"$1\"/.s*").await;
    attach(&delivery).await;
    // Another harness finds it there.
    attach(&case.delivery()).await;
    case.holds(".supervisor-aaaaaaaaaaaa").await;
    delivery.remove().await.unwrap();
    case.holds("").await;
    case.end().await;
}

#[tokio::test]
#[ignore = "needs a real daemon"]
async fn many_harnesses_at_once_do_not_harm_each_other() {
    let case = Case::new("many", vec![fake(here(), ECHO, "bbbbbbbbbbbbbbbb")]);
    let all: Vec<_> = (0..8).map(|_| case.delivery()).collect();
    futures_util::future::join_all(all.iter().map(attach)).await;
    case.holds(".supervisor-bbbbbbbbbbbb").await;
    case.end().await;
}

#[tokio::test]
#[ignore = "needs a real daemon"]
async fn the_build_for_another_machine_gives_way_to_the_right_one() {
    let wrong = fake(other(), b"#!/bin/sh\nexit 1\n", "cccccccccccccccc");
    let case = Case::new("machine", vec![wrong.clone(), fake(here(), ECHO, "dddddddddddddddd")]);
    attach(&case.delivery()).await;
    case.holds(".supervisor-dddddddddddd").await;
    case.end().await;

    let case = Case::new("no-machine", vec![wrong]);
    let error = case.delivery().attach().await.unwrap_err();
    assert!(matches!(&error, DeliveryError::Machine(name) if name == here().name()), "{error:?}");
    assert!(error.is_final());
    case.end().await;
}

#[tokio::test]
#[ignore = "needs a real daemon"]
async fn a_file_that_the_system_does_not_run_is_one_clear_error() {
    let case = Case::new("broken", vec![fake(here(), b"#!/no/such/interpreter\n", "eeeeeeeeeeeeeeee")]);
    let error = case.delivery().attach().await.unwrap_err();
    assert!(error.to_string().starts_with("the sandbox cannot execute the supervisor: "), "{error}");
    assert!(error.is_final());
    case.end().await;
}

#[tokio::test]
#[ignore = "needs a real daemon"]
async fn a_supervisor_that_ends_without_a_word_is_told_with_its_last_words() {
    let case =
        Case::new("mute", vec![fake(here(), b"#!/bin/sh\necho wrong directory >&2\nexit 9\n", "ffffffffffffffff")]);
    let error = case.delivery().attach().await.unwrap_err();
    assert!(
        matches!(&error, DeliveryError::Ended { exit_code: 9, stderr: Some(text), .. } if text == "wrong directory"),
        "{error:?}"
    );
    case.end().await;
}

#[tokio::test]
#[ignore = "needs a real daemon"]
async fn a_silent_supervisor_is_given_up_and_ended() {
    let mut case = Case::new("silent", vec![fake(here(), b"#!/bin/sh\nexec sleep 987\n", "abababababababab")]);
    case.settings.timeout = Duration::from_secs(1);
    assert!(matches!(case.delivery().attach().await, Err(DeliveryError::Silent(_))));
    let start = Instant::now();
    while !case.sh("ps -eo args | grep -c '[s]leep 987'").await.starts_with('0') {
        assert!(start.elapsed() < LIMIT);
    }
    case.end().await;
}

#[tokio::test]
#[ignore = "needs a real daemon"]
async fn an_installed_supervisor_is_started_without_an_upload() {
    let mut case = Case::new("installed", Vec::new());
    let path = format!("{}/mine", case.settings.root);
    case.sh("mkdir -p \"$1\" && printf '#!/bin/sh\\necho \"ready $*\"\\necho noise >&2\\nexec cat\\n' >\"$1/mine\" && chmod 755 \"$1/mine\"").await;
    case.settings.installed = Some(path);
    attach(&case.delivery()).await;
    case.holds("mine").await;
    case.settings.installed = Some("/no/such/supervisor".into());
    let error = case.delivery().attach().await.unwrap_err();
    assert!(matches!(error, DeliveryError::CannotExecute(_)), "{error:?}");
    case.end().await;
}

#[tokio::test]
#[ignore = "needs a real daemon"]
async fn without_a_shell_line_upload_and_start_follow_one_another() {
    let case = Case::new("direct", vec![fake(here(), ECHO, "1212121212121212")]);
    let delivery = case.delivery();
    delivery.pretend_no_shell();
    attach(&delivery).await;
    attach(&delivery).await;
    assert!(case.sh("ls -A \"$1\"").await.starts_with(".supervisor-121212121212-"));
    delivery.remove().await.unwrap();
    case.holds("").await;
    case.end().await;
}

#[tokio::test]
#[ignore = "needs a real daemon"]
async fn the_first_delivery_takes_less_than_two_round_trips_and_a_later_one_little_more_than_one() {
    let round_trip = Duration::from_millis(300);
    // The size of a real one; its zeros come after the script's end.
    let content = [b"#!/bin/sh\necho ready\nexec cat\n".as_slice(), &vec![b'#'; 1_200_000]].concat();
    let mut case = Case::new("delayed", vec![fake(here(), &content, "3434343434343434")]);
    let mut facts = real_facts();
    let target = facts.envd_url.trim_start_matches("http://").to_owned();
    facts.envd_url = format!("http://{}", delayed(target, round_trip).await);
    case.envd = Envd::new(facts).unwrap();
    case.envd.warm().await;
    let delivery = case.delivery();
    for bound in [round_trip * 2, round_trip * 3 / 2] {
        let start = Instant::now();
        let attachment = delivery.attach().await.unwrap();
        let spent = start.elapsed();
        assert!(spent >= round_trip && spent < bound, "{spent:?}");
        case.envd.kill(attachment.pid).await.unwrap();
    }
    case.end().await;
}
