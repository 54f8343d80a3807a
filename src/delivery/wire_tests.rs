//! Against scripted servers that differ from the real daemon.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::future::poll_fn;
use std::{
    sync::{Mutex, mpsc},
    time::Duration,
};

use bytes::Bytes;
use envd_api::{
    filesystem::RemoveRequest,
    process::{ProcessEvent, SendSignalRequest, StartRequest, StartResponse, process_event as wire, process_selector},
};
use prost::Message as _;
use tokio::time::timeout;

use super::{Delivery, DeliveryError, DeliverySettings, Machine, binary::tests::fake, script};
use crate::envd::{
    Envd,
    facts::test_facts,
    test_server::{Got, SILENCE, TestServer, answer, frame, open_answer},
};

const LIMIT: Duration = Duration::from_secs(10);
const CONTENT: &[u8] = b"the supervisor itself";

/// What a scripted program does.
enum Program {
    Speaks,
    Exits(i32, String),
    Refused,
}

fn event(event: wire::Event) -> Vec<u8> {
    frame(0, &StartResponse { event: Some(ProcessEvent { event: Some(event) }) }.encode_to_vec())
}

fn run(program: Program) -> Vec<u8> {
    let data = |output| event(wire::Event::Data(wire::DataEvent { output: Some(output) }));
    let started = event(wire::Event::Start(wire::StartEvent { pid: 7 }));
    let end = |exit_code, status: &str| {
        let end = wire::EndEvent { exit_code, exited: true, status: status.into(), error: None };
        [event(wire::Event::End(end)), frame(2, b"{}")].concat()
    };
    let body = match program {
        Program::Speaks => {
            [started, data(wire::data_event::Output::Stdout(Bytes::from_static(b"READY"))), end(0, "exit status 0")]
                .concat()
        }
        Program::Exits(code, stderr) => {
            [started, data(wire::data_event::Output::Stderr(stderr.into())), end(code, &format!("exit status {code}"))]
                .concat()
        }
        Program::Refused => frame(2, br#"{"error":{"code":"invalid_argument","message":"exec: no such file"}}"#),
    };
    open_answer("application/connect+proto", &body)
}

fn start_request(got: &Got) -> Option<StartRequest> {
    got.line.contains("/Start ").then(|| StartRequest::decode(&got.body[5..]).unwrap())
}

fn delivery(server: &TestServer, version: &str) -> Delivery {
    let mut facts = test_facts(server.url.clone());
    facts.envd_version = version.into();
    let settings = DeliverySettings {
        binaries: vec![fake(Machine::X86_64, CONTENT, "0123456789abcdef")],
        installed: None,
        root: "/r".into(),
        argv: vec!["join".into(), "/r/d".into()],
        timeout: LIMIT,
        silence: LIMIT,
    };
    Delivery::new(Envd::new(facts).unwrap(), settings)
}

/// A server where `program` decides what a start does, and `stores` which uploads are taken.
async fn server(
    program: impl Fn(&str, usize) -> Program + Send + Sync + 'static,
    stores: impl Fn(&Got) -> bool + Send + Sync + 'static,
) -> TestServer {
    let starts = Mutex::new(0);
    TestServer::start(move |got| {
        if let Some(request) = start_request(got) {
            let mut starts = starts.lock().unwrap();
            *starts += 1;
            return run(program(&request.process.unwrap().cmd, *starts));
        }
        match got.line.contains("/files?") {
            true if stores(got) => answer("200 OK", "text/plain", b"[]"),
            true => answer("400 Bad Request", "application/json", br#"{"code":400,"message":"no"}"#),
            false => answer("200 OK", "application/proto", b""),
        }
    })
    .await
}

fn is_form(got: &Got) -> bool {
    got.header("content-type").unwrap().starts_with("multipart/form-data")
}

#[tokio::test]
async fn a_daemon_without_a_shell_gets_the_upload_first_and_then_a_plain_start() {
    let server = server(
        |cmd, _| match cmd {
            "/bin/sh" => Program::Refused,
            "chmod" => Program::Exits(0, String::new()),
            _ => Program::Speaks,
        },
        |_| true,
    )
    .await;
    let delivery = delivery(&server, "0.6.13");
    for _ in 0..2 {
        let mut attachment = timeout(LIMIT, delivery.attach()).await.unwrap().unwrap();
        assert_eq!(poll_fn(|cx| attachment.output.poll_next(cx)).await.unwrap(), "READY");
    }
    let programs: Vec<_> = server
        .got()
        .iter()
        .filter_map(start_request)
        .map(|request| request.process.unwrap())
        .map(|process| (process.cmd, process.args))
        .collect();
    let path = programs[2].0.clone();
    assert!(path.starts_with("/r/.supervisor-0123456789ab-"), "{path}");
    assert_eq!(programs[1], ("chmod".into(), vec!["700".into(), path.clone()]));
    let join = (path, vec!["join".into(), "/r/d".into()]);
    assert_eq!(programs[2..], [join.clone(), join]);
}

#[tokio::test]
async fn a_server_that_refuses_compressed_bodies_gets_a_form_with_the_file_itself() {
    let server = server(|_, _| Program::Speaks, is_form).await;
    // The scripted shell speaks at once; the upload goes on by itself, its file is removed afterwards.
    timeout(LIMIT, delivery(&server, "0.6.13").attach()).await.unwrap().unwrap();
    let all = wait_for(&server, "Filesystem/Remove").await;
    let uploads: Vec<_> = all.iter().filter(|got| got.line.contains("/files?")).collect();
    assert_eq!(uploads.len(), 2);
    assert_eq!(uploads[0].header("content-encoding"), Some("gzip"));
    let body = String::from_utf8_lossy(&uploads[1].body);
    assert!(is_form(uploads[1]) && body.contains("the supervisor itself"), "{body}");
    assert!(body.contains("filename=\"/r/.supervisor-0123456789ab-"), "{body}");
    assert!(body.contains("name=\"file\""));
}

#[tokio::test]
async fn an_old_version_is_not_even_asked_to_take_a_compressed_body() {
    let server = server(|_, _| Program::Speaks, |_| true).await;
    timeout(LIMIT, delivery(&server, "0.2.0").attach()).await.unwrap().unwrap();
    let all = wait_for(&server, "Filesystem/Remove").await;
    assert!(all.iter().filter(|got| got.line.contains("/files?")).all(is_form));
}

#[tokio::test]
async fn an_upload_that_the_shell_does_not_see_is_repeated_uncompressed() {
    let server = server(
        |_, starts| if starts == 1 { Program::Exits(script::EXIT_UPLOAD, String::new()) } else { Program::Speaks },
        |_| true,
    )
    .await;
    timeout(LIMIT, delivery(&server, "0.6.13").attach()).await.unwrap().unwrap();
    let starts: Vec<_> = server.got().iter().filter_map(start_request).collect();
    assert_eq!(starts.len(), 2);
    assert_ne!(starts[0].process.as_ref().unwrap().args[5], starts[1].process.as_ref().unwrap().args[5]);
}

#[tokio::test]
async fn c64_a_binary_that_other_harnesses_remove_is_brought_again_a_few_times() {
    let gone = || Program::Exits(127, "supervisor: 31: /r/.supervisor-0123456789ab: not found".into());
    let server = server(move |_, starts| if starts < 4 { gone() } else { Program::Speaks }, |_| true).await;
    timeout(LIMIT, delivery(&server, "0.6.13").attach()).await.unwrap().unwrap();
    assert_eq!(server.got().iter().filter_map(start_request).count(), 4);
    let server = self::server(move |_, _| gone(), |_| true).await;
    let error = timeout(LIMIT, delivery(&server, "0.6.13").attach()).await.unwrap().unwrap_err();
    assert!(matches!(&error, DeliveryError::CannotExecute(text) if text.ends_with("not found")), "{error:?}");
    assert!(error.is_final());
}

#[tokio::test]
async fn a_start_that_is_never_answered_is_given_up_once_the_upload_is_through_and_not_before() {
    const SILENT: Duration = Duration::from_millis(150);
    let silence = |upload: &'static [u8]| {
        TestServer::start(move |got| match got.line.contains("/files?") {
            true if upload == SILENCE => SILENCE.to_vec(),
            true => answer("200 OK", "text/plain", upload),
            false => SILENCE.to_vec(),
        })
    };
    let attach = |server: &TestServer| {
        let mut settings = delivery(server, "0.6.13").settings().clone();
        settings.silence = SILENT;
        Delivery::new(Envd::new(test_facts(server.url.clone())).unwrap(), settings)
    };
    let server = silence(b"[]").await;
    let delivery = attach(&server);
    // The first ones get the same time, later ones more and more: perhaps the sandbox is slow.
    for patience in [1, 1, 1, 2, 4] {
        let error = timeout(LIMIT, delivery.attach()).await.unwrap().unwrap_err();
        assert!(matches!(error, DeliveryError::Silent(silent) if silent == SILENT * patience), "{patience}: {error:?}");
        assert!(!error.is_final());
    }
    // While the upload goes on, it is what is waited for.
    let server = silence(SILENCE).await;
    timeout(SILENT * 10, attach(&server).attach()).await.unwrap_err();
}

#[tokio::test]
async fn c21_a_disk_that_takes_nothing_is_told_in_the_servers_words_and_is_final_unlike_an_upload_that_broke_off() {
    for (status, body, is_final) in [
        ("507 Insufficient Storage", r#"{"code":507,"message":"disk full"}"#, true),
        ("500 Internal Server Error", r#"{"code":500,"message":"open /r: read-only file system (disk)"}"#, true),
        ("500 Internal Server Error", r#"{"code":500,"message":"disk: unexpected EOF"}"#, false),
        ("507 Insufficient Storage", "disk", false),
        ("503 Service Unavailable", r#"{"code":503,"message":"disk: permission denied"}"#, false),
    ] {
        let server = TestServer::start(move |got| match got.line.contains("/files?") {
            true => answer(status, "application/json", body.as_bytes()),
            false => run(Program::Refused),
        })
        .await;
        let error = timeout(LIMIT, delivery(&server, "0.6.13").attach()).await.unwrap().unwrap_err();
        assert!(error.to_string().contains("disk"), "{error}");
        assert_eq!(error.is_final(), is_final, "{status} {body}");
        wait_for(&server, "Filesystem/Remove").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c64_a_start_that_is_answered_after_its_upload_failed_is_killed() {
    let (release, held) = mpsc::channel();
    let held = Mutex::new(held);
    let server = TestServer::start(move |got| {
        if got.line.contains("/Start ") {
            // Who waits behind this task on its worker goes on elsewhere.
            tokio::task::block_in_place(|| held.lock().unwrap().recv_timeout(LIMIT)).unwrap();
            let started = event(wire::Event::Start(wire::StartEvent { pid: 7 }));
            return open_answer("application/connect+proto", &started);
        }
        match got.line.contains("/files?") {
            true => answer("507 Insufficient Storage", "application/json", br#"{"code":507,"message":"disk full"}"#),
            false => answer("200 OK", "application/proto", b""),
        }
    })
    .await;
    timeout(LIMIT, delivery(&server, "0.6.13").attach()).await.unwrap().unwrap_err();
    assert!(!server.got().iter().any(|got| got.line.contains("/SendSignal ")));
    release.send(()).unwrap();
    let all = wait_for(&server, "/SendSignal ").await;
    let killed = all.iter().find(|got| got.line.contains("/SendSignal ")).unwrap();
    let killed = SendSignalRequest::decode(killed.body.as_slice()).unwrap();
    assert_eq!(killed.process.unwrap().selector, Some(process_selector::Selector::Pid(7)));
}

#[tokio::test]
async fn c64_what_each_way_brought_is_removed_at_the_end() {
    let server = server(
        |cmd, starts| match cmd {
            // Once there is a shell, and then no more; and what it had brought does not start.
            "/bin/sh" if starts == 1 => Program::Speaks,
            "chmod" => Program::Exits(0, String::new()),
            "/bin/sh" | "/r/.supervisor-0123456789ab" => Program::Refused,
            _ => Program::Speaks,
        },
        |_| true,
    )
    .await;
    let delivery = delivery(&server, "0.6.13");
    for _ in 0..2 {
        timeout(LIMIT, delivery.attach()).await.unwrap().unwrap();
    }
    let direct = server.got().iter().filter_map(start_request).next_back().unwrap().process.unwrap().cmd;
    assert!(direct.starts_with("/r/.supervisor-0123456789ab-"), "{direct}");
    timeout(LIMIT, delivery.remove()).await.unwrap().unwrap();
    let removed: Vec<_> = server
        .got()
        .iter()
        .filter(|got| got.line.contains("Filesystem/Remove"))
        .map(|got| RemoveRequest::decode(got.body.as_slice()).unwrap().path)
        .collect();
    for path in ["/r/.supervisor-0123456789ab", &direct] {
        assert!(removed.iter().any(|removed| removed == path), "{path} {removed:?}");
    }
}

#[tokio::test]
async fn an_edges_bare_refusal_is_not_taken_for_a_daemon_without_a_shell() {
    for status in ["400 Bad Request", "500 Internal Server Error", "502 Bad Gateway"] {
        let starts = Mutex::new(0);
        let server = TestServer::start(move |got| {
            if start_request(got).is_some() {
                let mut starts = starts.lock().unwrap();
                *starts += 1;
                return if *starts <= 3 { answer(status, "text/html", b"<html>") } else { run(Program::Speaks) };
            }
            answer("200 OK", "application/proto", b"")
        })
        .await;
        let delivery = delivery(&server, "0.6.13");
        for _ in 0..3 {
            let error = timeout(LIMIT, delivery.attach()).await.unwrap().unwrap_err();
            assert!(matches!(error, DeliveryError::Envd(_)), "{error:?}");
        }
        timeout(LIMIT, delivery.attach()).await.unwrap().unwrap();
        let programs: Vec<_> =
            server.got().iter().filter_map(start_request).map(|start| start.process.unwrap().cmd).collect();
        assert_eq!(programs, ["/bin/sh"; 4], "{status}");
    }
}

#[tokio::test]
async fn wrong_credentials_are_told_at_once_and_are_final() {
    let server = TestServer::start(|_| {
        answer("401 Unauthorized", "application/json", br#"{"code":401,"message":"unauthorized"}"#)
    })
    .await;
    let error = timeout(LIMIT, delivery(&server, "0.6.13").attach()).await.unwrap().unwrap_err();
    assert!(error.is_final(), "{error:?}");
    assert!(matches!(error, DeliveryError::Envd(crate::envd::Error::Unauthorized(_))));
}

/// The requests, once there is one whose line holds `part`.
async fn wait_for(server: &TestServer, part: &str) -> Vec<Got> {
    timeout(LIMIT, async {
        loop {
            let got = server.got();
            if got.iter().any(|got| got.line.contains(part)) {
                return got;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await
    .unwrap()
}
