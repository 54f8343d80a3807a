#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::{
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use super::{
    api::{Api, Killed},
    error::OwnerError,
    settings::{Target, test_settings},
};
use crate::envd::test_server::{Got, TestServer, answer};

const CREATED: &str = r#"{"sandboxID":"inew","envdVersion":"0.6.13","envdAccessToken":"ea-1","domain":"d.e"}"#;

/// Answers the first requests with `first`, in turn, then with `rest`.
async fn server(first: Vec<Vec<u8>>, rest: Vec<u8>) -> TestServer {
    let count = AtomicUsize::new(0);
    TestServer::start(move |_| first.get(count.fetch_add(1, Ordering::SeqCst)).unwrap_or(&rest).clone()).await
}

fn created() -> Vec<u8> {
    answer("201 Created", "application/json", CREATED.as_bytes())
}

fn refusal(status: &str, body: &str) -> Vec<u8> {
    answer(status, "application/json", body.as_bytes())
}

fn limited(retry_after: &str) -> Vec<u8> {
    let plain = String::from_utf8(refusal("429 Too Many Requests", r#"{"code":429,"message":"slow down"}"#)).unwrap();
    plain.replacen("connection: close", &format!("retry-after: {retry_after}\r\nconnection: close"), 1).into_bytes()
}

fn json(got: &Got) -> serde_json::Value {
    serde_json::from_slice(&got.body).unwrap()
}

#[tokio::test]
async fn c61_a_create_asks_for_a_secure_sandbox_that_is_killed_by_its_timeout() {
    let server = server(vec![], created()).await;
    let settings = test_settings(&server.url);
    let sandbox = Api::new(&settings).unwrap().begin(&settings, pending()).await.unwrap();
    assert_eq!((sandbox.sandbox_id.as_str(), sandbox.domain.as_deref()), ("inew", Some("d.e")));
    let got = &server.got()[0];
    assert_eq!(got.line, "POST /sandboxes HTTP/1.1");
    assert_eq!(got.header("x-api-key"), Some("e2b_00ff"));
    let expected = serde_json::json!({
        "templateID": "base", "timeout": 2, "secure": true, "allow_internet_access": true,
        "autoPause": false, "autoResume": {"enabled": false},
    });
    assert_eq!(json(got), expected);
}

#[tokio::test]
async fn template_variables_and_labels_are_sent_when_there_are_some() {
    let server = server(vec![], created()).await;
    let mut settings = test_settings(&server.url);
    let pair = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
    settings.target = Target::New { template: "mine".into(), envs: pair("A", "1"), metadata: pair("l", "m") };
    Api::new(&settings).unwrap().begin(&settings, pending()).await.unwrap();
    let body = json(&server.got()[0]);
    assert_eq!(
        (&body["templateID"], &body["envVars"]["A"], &body["metadata"]["l"]),
        (&"mine".into(), &"1".into(), &"m".into())
    );
}

#[tokio::test]
async fn an_existing_sandbox_is_joined_by_its_id() {
    let server = server(vec![], refusal("200 OK", CREATED)).await;
    let mut settings = test_settings(&server.url);
    settings.target = Target::Existing { sandbox_id: "i/old".into() };
    Api::new(&settings).unwrap().begin(&settings, pending()).await.unwrap();
    let got = &server.got()[0];
    assert_eq!(got.line, "POST /sandboxes/i%2Fold/connect HTTP/1.1");
    assert_eq!(json(got), serde_json::json!({ "timeout": 2 }));
}

#[tokio::test]
async fn c61_a_limit_with_a_time_is_waited_for_and_one_without_is_told_at_once() {
    let server = server(vec![limited("1")], created()).await;
    let settings = test_settings(&server.url);
    let start = Instant::now();
    Api::new(&settings).unwrap().begin(&settings, pending()).await.unwrap();
    assert!(start.elapsed() >= Duration::from_secs(1));
    assert_eq!(server.got().len(), 2);

    let quota =
        self::server(vec![], refusal("429 Too Many Requests", r#"{"code":429,"message":"20 sandboxes"}"#)).await;
    let settings = test_settings(&quota.url);
    let error = Api::new(&settings).unwrap().begin(&settings, pending()).await.unwrap_err();
    assert_eq!(error, OwnerError::RateLimited { message: "20 sandboxes".into(), retry_after: None });
    assert_eq!(quota.got().len(), 1);
}

#[tokio::test]
async fn c61_a_create_whose_answer_was_lost_is_not_repeated() {
    // The connection closes without an answer.
    let server = server(vec![], Vec::new()).await;
    let settings = test_settings(&server.url);
    let error = Api::new(&settings).unwrap().begin(&settings, pending()).await.unwrap_err();
    assert!(matches!(error, OwnerError::AnswerLost(_)), "{error:?}");
    assert_eq!(server.got().len(), 1);

    let gateway = self::server(vec![], refusal("502 Bad Gateway", "<html>")).await;
    let settings = test_settings(&gateway.url);
    let error = Api::new(&settings).unwrap().begin(&settings, pending()).await.unwrap_err();
    assert!(matches!(error, OwnerError::Server { status: 502, .. }), "{error:?}");
    assert_eq!(gateway.got().len(), 1);
}

#[tokio::test]
async fn c61_nobody_there_is_told_after_a_few_attempts() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let settings = test_settings(&format!("http://{}", listener.local_addr().unwrap()));
    drop(listener);
    let error = Api::new(&settings).unwrap().begin(&settings, pending()).await.unwrap_err();
    assert!(matches!(error, OwnerError::Unreachable(_)), "{error:?}");
}

#[tokio::test]
async fn c61_a_disposal_cuts_the_waiting_between_attempts_short() {
    let server = server(vec![limited("30")], created()).await;
    let settings = test_settings(&server.url);
    let stop = Arc::new(tokio::sync::Notify::new());
    stop.notify_one();
    let stopped = Arc::clone(&stop);
    let begin = async { Api::new(&settings).unwrap().begin(&settings, async move { stopped.notified().await }).await };
    let error = tokio::time::timeout(Duration::from_secs(10), begin).await.unwrap().unwrap_err();
    assert!(matches!(error, OwnerError::RateLimited { .. }), "{error:?}");
    assert_eq!(server.got().len(), 1);
}

#[tokio::test]
async fn c61_a_kill_is_repeated_after_a_lost_answer_and_a_sandbox_that_is_gone_is_fine() {
    let not_found = refusal("404 Not Found", r#"{"code":404,"message":"no such sandbox"}"#);
    let server = server(vec![Vec::new(), refusal("503 Service Unavailable", "{}")], not_found).await;
    let api = Api::new(&test_settings(&server.url)).unwrap();
    assert_eq!(api.kill("i1").await.unwrap(), Killed::Before);
    let lines: Vec<_> = server.got().into_iter().map(|got| got.line).collect();
    assert_eq!(lines, ["DELETE /sandboxes/i1 HTTP/1.1"; 3]);
}

#[tokio::test]
async fn c61_a_404_of_a_proxy_is_no_proof_that_the_sandbox_is_gone() {
    let server = server(vec![], refusal("404 Not Found", "404 page not found")).await;
    let error = Api::new(&test_settings(&server.url)).unwrap().kill("i1").await.unwrap_err();
    assert!(matches!(error, OwnerError::Refused { status: 404, .. }), "{error:?}");
}

#[tokio::test]
async fn only_a_running_sandbox_is_prolonged() {
    let paused = server(vec![], refusal("200 OK", r#"{"sandboxID":"i1","state":"paused"}"#)).await;
    Api::new(&test_settings(&paused.url)).unwrap().extend("i1", 60).await.unwrap();
    assert_eq!(paused.got().len(), 1, "waking a paused sandbox was nobody's wish");
    let running =
        server(vec![refusal("200 OK", r#"{"sandboxID":"i1","state":"running"}"#)], refusal("200 OK", "{}")).await;
    Api::new(&test_settings(&running.url)).unwrap().extend("i1", 60).await.unwrap();
    assert_eq!(json(&running.got()[1]), serde_json::json!({ "timeout": 60 }));
}

#[tokio::test]
async fn c63_a_key_that_the_server_repeats_is_in_no_error() {
    let server = server(vec![], refusal("401 Unauthorized", r#"{"code":401,"message":"bad key e2b_00ff"}"#)).await;
    let settings = test_settings(&server.url);
    let error = Api::new(&settings).unwrap().begin(&settings, pending()).await.unwrap_err();
    assert_eq!(error.facts().message, "the control plane refused the API key: bad key [redacted]");
    assert!(!format!("{:?}", Api::new(&settings)).contains("e2b_00ff"));
}
