//! Input to processes, in single calls and in streams.

use std::convert::Infallible;

use bytes::Bytes;
use futures_util::StreamExt as _;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::Frame;
use prost::Message as _;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::daemon::{Daemon, envelope, request, soon};
use envd_api::process::{
    ProcessInput, ProcessSelector, StreamInputRequest, process_input, process_selector,
    stream_input_request::{DataEvent, Event, StartEvent},
};

fn process(pid: u64) -> Value {
    json!({"process": {"pid": pid}})
}

#[tokio::test(flavor = "multi_thread")]
async fn input_arrives_in_order_and_closing_is_its_end() {
    let daemon = Daemon::start().await;
    // It lives on after the end of its input, so that this can be told twice.
    let (mut events, pid) = daemon.script("cat; sleep 1").await;
    for text in ["aGVsbG8g", "", "d29ybGQ="] {
        let message = json!({"process": {"pid": pid}, "input": {"stdin": text}});
        assert!(daemon.unary("process.Process/SendInput", message).await.status.is_success(), "{text}");
    }
    for _ in 0..2 {
        assert!(daemon.unary("process.Process/CloseStdin", process(pid)).await.status.is_success());
    }
    assert_eq!(events.outcome().await.stdout, "hello world");
}

#[tokio::test(flavor = "multi_thread")]
async fn input_of_the_wrong_kind_or_to_nobody_is_refused() {
    let daemon = Daemon::start().await;
    let (_events, pid) = daemon.started(json!({"process": {"cmd": "sleep", "args": ["5"]}, "stdin": false}), &[]).await;
    let table = [
        (json!({"process": {"pid": pid}, "input": {"stdin": "eA=="}}), "internal"),
        (json!({"process": {"pid": pid}, "input": {"pty": "eA=="}}), "internal"),
        (json!({"process": {"pid": pid}}), "unimplemented"),
        (json!({"process": {"pid": 999_999_999}, "input": {"stdin": ""}}), "not_found"),
        (json!({"input": {"stdin": ""}}), "unimplemented"),
    ];
    for (message, code) in table {
        let reply = daemon.unary("process.Process/SendInput", message.clone()).await;
        assert_eq!(reply.json()["code"], code, "{message}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn streamed_binary_input_echoes_while_its_request_is_still_open() {
    let daemon = Daemon::start().await;
    let (mut events, pid) = daemon.started(json!({"process": {"cmd": "cat"}}), &[]).await;
    let (messages, receiver) = mpsc::channel::<Vec<u8>>(8);
    let body = futures_util::stream::unfold(receiver, async |mut receiver| {
        let bytes = receiver.recv().await?;
        Some((Ok::<_, Infallible>(Frame::data(Bytes::from(bytes))), receiver))
    });
    let headers = [("content-type", "application/connect+proto")];
    let body = StreamBody::new(body.boxed());
    let answer = daemon.open(request("POST", "/process.Process/StreamInput", &headers, body));
    let client = async {
        messages.send(envelope(&start_message(pid))).await.expect("open");
        for round in 0..3 {
            messages.send(envelope(&data_message(&format!("round {round}\n")))).await.expect("open");
            let echo = events.next().await.expect("echo");
            assert!(echo["event"]["data"]["stdout"].is_string(), "{echo}");
        }
        drop(messages);
    };
    let (response, ()) = tokio::join!(answer, client);
    let reply = soon("answer", response.into_body().collect()).await.expect("answer").to_bytes();
    assert_eq!(&reply[..], b"\0\0\0\0\0\x02\0\0\0\x02{}", "an empty message and a clean end");
    daemon.unary("process.Process/CloseStdin", process(pid)).await;
    assert_eq!(events.outcome().await.exit_code, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_of_a_stream_comes_after_the_end_of_its_request() {
    let daemon = Daemon::start().await;
    let headers = [("content-type", "application/connect+json")];
    let start = json!({"start": {"process": {"pid": 999_999_999}}}).to_string();
    let reply = daemon.call("POST", "/process.Process/StreamInput", &headers, envelope(start.as_bytes())).await;
    assert_eq!(reply.body[0], 2);
    let end: Value = serde_json::from_slice(&reply.body[5..]).expect("JSON");
    assert_eq!(end["error"]["code"], "not_found");
}

fn start_message(pid: u64) -> Vec<u8> {
    let pid = u32::try_from(pid).expect("pid");
    let selector = ProcessSelector { selector: Some(process_selector::Selector::Pid(pid)) };
    StreamInputRequest { event: Some(Event::Start(StartEvent { process: Some(selector) })) }.encode_to_vec()
}

fn data_message(text: &str) -> Vec<u8> {
    let input = ProcessInput { input: Some(process_input::Input::Stdin(text.to_owned().into())) };
    StreamInputRequest { event: Some(Event::Data(DataEvent { input: Some(input) })) }.encode_to_vec()
}
