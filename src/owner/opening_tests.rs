#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::time::Duration;

use super::{
    error::OwnerError,
    opening::{Opening, Unready},
    settings::{Target, test_settings},
};
use crate::envd::test_server::{Got, TestServer, answer, open_answer};

/// One server as control plane and edge: the shell line ends with what `run` gives.
async fn server(run: impl Fn(&Got) -> Vec<u8> + Send + Sync + 'static) -> TestServer {
    let created = r#"{"sandboxID":"inew","envdVersion":"0.6.13","envdAccessToken":"ea-1"}"#;
    TestServer::start(move |got| match got.line.split(' ').next() {
        _ if got.line.contains("/process.Process/Start") => run(got),
        Some("POST") if got.line.contains("/sandboxes") => {
            answer("201 Created", "application/json", created.as_bytes())
        }
        Some("DELETE") => answer("204 No Content", "application/json", b""),
        _ => answer("400 Bad Request", "text/plain", b"no sandbox named"),
    })
    .await
}

/// The stream of a process that exits with `code`, as protobuf.
fn exits(code: i32) -> Vec<u8> {
    use envd_api::process::{
        ProcessEvent, StartResponse,
        process_event::{EndEvent, Event, StartEvent},
    };
    use prost::Message as _;
    let message = |event| StartResponse { event: Some(ProcessEvent { event: Some(event) }) }.encode_to_vec();
    let end = EndEvent { exit_code: code, exited: true, status: format!("exit status {code}"), error: None };
    let frames = [
        crate::envd::test_server::frame(0, &message(Event::Start(StartEvent { pid: 7 }))),
        crate::envd::test_server::frame(0, &message(Event::End(end))),
        crate::envd::test_server::frame(2, b"{}"),
    ];
    open_answer("application/connect+proto", &frames.concat())
}

fn count(server: &TestServer, start: &str) -> usize {
    server.got().iter().filter(|got| got.line.starts_with(start)).count()
}

#[tokio::test]
async fn c61_a_ready_sandbox_costs_one_request_to_each_server_and_warm_connections() {
    let server = server(|_| exits(0)).await;
    let opening = Opening::new(test_settings(&server.url)).unwrap();
    let created = opening.begin().await.unwrap();
    opening.set_up(&created).await.unwrap();
    let got = server.got();
    let work: Vec<_> = got.iter().map(|got| got.line.as_str()).filter(|line| !line.contains("/health")).collect();
    assert_eq!(work, ["POST /sandboxes HTTP/1.1", "POST /process.Process/Start HTTP/1.1"]);
    let start = got.iter().find(|got| got.line.contains("Start")).unwrap();
    assert_eq!((start.header("x-access-token"), start.header("e2b-sandbox-id")), (Some("ea-1"), Some("inew")));
}

#[tokio::test]
async fn c61_a_link_at_the_private_directory_is_refused_and_the_sandbox_is_killed_once() {
    let server = server(|_| exits(92)).await;
    let opening = Opening::new(test_settings(&server.url)).unwrap();
    let created = opening.begin().await.unwrap();
    let unready = opening.set_up(&created).await.unwrap_err();
    let root = "/home/user/workspace/.dsh-e2b".to_owned();
    assert_eq!(unready, Unready { error: OwnerError::RuntimeRoot(root), rolled_back: true });
    assert_eq!(count(&server, "DELETE /sandboxes/inew"), 1);
}

#[tokio::test]
async fn a_sandbox_that_is_not_ours_is_never_killed() {
    let server = server(|_| exits(92)).await;
    let mut settings = test_settings(&server.url);
    settings.target = Target::Existing { sandbox_id: "inew".into() };
    let opening = Opening::new(settings).unwrap();
    let created = opening.begin().await.unwrap();
    assert!(!opening.set_up(&created).await.unwrap_err().rolled_back);
    opening.kill().await.unwrap();
    assert_eq!(count(&server, "DELETE"), 0);
}

#[tokio::test]
async fn c61_a_stopped_owner_leaves_the_killing_to_who_stopped_it() {
    let server = server(|_| exits(0)).await;
    let opening = Opening::new(test_settings(&server.url)).unwrap();
    opening.stop();
    let created = opening.begin().await.unwrap();
    let unready = opening.set_up(&created).await.unwrap_err();
    assert_eq!(unready, Unready { error: OwnerError::Disposing, rolled_back: false });
    assert_eq!((count(&server, "POST /process"), count(&server, "DELETE")), (0, 0));
    opening.kill().await.unwrap();
    assert_eq!(count(&server, "DELETE"), 1);
}

#[tokio::test]
async fn c61_a_daemon_that_is_too_old_is_refused_before_anything_is_asked_of_it() {
    let created = r#"{"sandboxID":"iold","envdVersion":"0.0.9"}"#;
    let server = TestServer::start(|_| answer("201 Created", "application/json", created.as_bytes())).await;
    let opening = Opening::new(test_settings(&server.url)).unwrap();
    let sandbox = opening.begin().await.unwrap();
    let unready = opening.set_up(&sandbox).await.unwrap_err();
    assert_eq!(unready, Unready { error: OwnerError::Template("0.0.9".into()), rolled_back: true });
    assert_eq!(count(&server, "DELETE /sandboxes/iold"), 1);
}

#[tokio::test]
async fn c61_a_line_that_breaks_during_the_directories_is_tried_again() {
    let broken = std::sync::atomic::AtomicBool::new(true);
    let server = server(move |_| {
        if broken.swap(false, std::sync::atomic::Ordering::SeqCst) {
            return answer("502 Bad Gateway", "application/json", br#"{"message":"not yet","code":502}"#);
        }
        exits(0)
    })
    .await;
    let opening = Opening::new(test_settings(&server.url)).unwrap();
    let created = opening.begin().await.unwrap();
    let set_up = tokio::time::timeout(Duration::from_secs(10), opening.set_up(&created)).await.unwrap();
    assert_eq!(set_up, Ok(()));
    assert_eq!(count(&server, "POST /process"), 2);
}

#[tokio::test]
async fn c62_in_debug_mode_nobody_creates_or_ends_a_sandbox() {
    let server = server(|_| exits(0)).await;
    let mut settings = test_settings(&server.url);
    settings.urls.debug = true;
    let opening = Opening::new(settings).unwrap();
    let created = opening.begin().await.unwrap();
    opening.set_up(&created).await.unwrap();
    opening.extend().await.unwrap();
    opening.kill().await.unwrap();
    assert_eq!(created.sandbox_id, "debug_sandbox_id");
    assert_eq!((count(&server, "POST /sandboxes"), count(&server, "DELETE")), (0, 0));
}
