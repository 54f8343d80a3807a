//! What goes over the wire, and what becomes of wrong answers.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::time::Duration;

use bytes::Bytes;
use envd_api::process::{SendInputRequest, StartResponse, StreamInputRequest, process_event as wire};
use prost::Message as _;
use tokio::time::timeout;

use super::{
    Envd, Error, Event, Start, Upload,
    facts::test_facts,
    test_server::{Got, TestServer, answer, frame, open_answer},
};

const LIMIT: Duration = Duration::from_secs(10);
const PROTO: &str = "application/connect+proto";

fn event(event: wire::Event) -> Vec<u8> {
    StartResponse { event: Some(envd_api::process::ProcessEvent { event: Some(event) }) }.encode_to_vec()
}

fn started() -> Vec<u8> {
    frame(0, &event(wire::Event::Start(wire_start(7))))
}

fn wire_start(pid: u32) -> envd_api::process::process_event::StartEvent {
    envd_api::process::process_event::StartEvent { pid }
}

fn ended() -> Vec<u8> {
    let end = envd_api::process::process_event::EndEvent {
        exit_code: 4,
        exited: true,
        status: "exit status 4".into(),
        error: None,
    };
    frame(0, &event(wire::Event::End(end)))
}

async fn client(answer: impl Fn(&Got) -> Vec<u8> + Send + Sync + 'static) -> (Envd, TestServer) {
    let server = TestServer::start(answer).await;
    (Envd::new(test_facts(format!("{}/prefix", server.url))).unwrap(), server)
}

async fn start(answer: Vec<u8>) -> Result<super::Started, Error> {
    let (envd, _server) = client(move |_| answer.clone()).await;
    timeout(LIMIT, envd.start(Start { cmd: "x".into(), ..Default::default() })).await.unwrap()
}

#[tokio::test]
async fn a_start_carries_the_headers_that_edges_and_daemons_want_and_none_of_grpcs() {
    let (envd, server) = client(|_| open_answer(PROTO, &[started(), ended(), frame(2, b"{}")].concat())).await;
    let mut started = envd.start(Start { cmd: "x".into(), ..Default::default() }).await.unwrap();
    assert_eq!(started.pid, 7);
    assert!(matches!(started.output.next().await.unwrap().unwrap(), Event::Ended(ended) if ended.exit_code == 4));
    assert_eq!(started.output.next().await.unwrap(), None);

    let got = &server.got()[0];
    assert_eq!(got.line, "POST /prefix/process.Process/Start HTTP/1.1");
    for (name, value) in [
        ("content-type", PROTO),
        ("connect-protocol-version", "1"),
        ("keepalive-ping-interval", "50"),
        ("e2b-sandbox-id", "isandbox"),
        ("e2b-sandbox-port", "49983"),
        ("x-access-token", "ea-token-77"),
        ("x-extra", "extra-value"),
        ("user-agent", super::USER_AGENT),
    ] {
        assert_eq!(got.header(name), Some(value), "{name}");
    }
    assert!(got.header("content-length").is_some());
    for name in ["te", "grpc-timeout", "grpc-accept-encoding", "connect-timeout-ms", "authorization"] {
        assert_eq!(got.header(name), None, "{name}");
    }
}

#[tokio::test]
async fn an_old_daemon_is_told_its_user_on_start_alone() {
    let server = TestServer::start(|got| match got.line.contains("Start") {
        true => open_answer(PROTO, &[started(), ended(), frame(2, b"{}")].concat()),
        false => answer("200 OK", "application/proto", b""),
    })
    .await;
    let mut facts = test_facts(server.url.clone());
    facts.envd_version = "0.2.0".into();
    let envd = Envd::new(facts).unwrap();
    envd.start(Start::default()).await.unwrap();
    envd.send_input(7, Bytes::from_static(b"abc")).await.unwrap();
    let got = server.got();
    assert_eq!(got[0].header("authorization"), Some("Basic dXNlcjo="));
    assert_eq!(got[1].header("authorization"), None);
    // A unary message goes bare.
    assert_eq!(got[1].header("content-type"), Some("application/proto"));
    let input = SendInputRequest::decode(got[1].body.as_slice()).unwrap().input.unwrap().input.unwrap();
    assert_eq!(input, envd_api::process::process_input::Input::Stdin(Bytes::from_static(b"abc")));
}

#[tokio::test]
async fn a_415_turns_the_sandbox_to_json_for_good_and_only_then_is_the_start_repeated() {
    let json = br#"{"event":{"start":{"pid":9}}}"#;
    let end = br#"{"event":{"end":{"status":"exit status 0","exited":true}}}"#;
    let (envd, server) = client(move |got| match got.header("content-type") {
        Some("application/connect+json") => {
            open_answer("application/connect+json", &[frame(0, json), frame(0, end), frame(2, b"{}")].concat())
        }
        Some("application/json") => answer("200 OK", "application/json", b"{}"),
        _ => answer("415 Unsupported Media Type", "text/plain", b""),
    })
    .await;
    assert_eq!(envd.start(Start::default()).await.unwrap().pid, 9);
    assert!(envd.speaks_json());
    envd.send_input(9, Bytes::from_static(b"\xff")).await.unwrap();
    let (sink, outcome) = envd.stream_input(9);
    sink.send(Bytes::from_static(b"a")).await.unwrap();
    drop(sink);
    timeout(LIMIT, outcome).await.unwrap().unwrap();
    let types: Vec<_> = server.got().iter().map(|got| got.header("content-type").unwrap().to_owned()).collect();
    assert_eq!(types, [PROTO, "application/connect+json", "application/json", "application/connect+json"]);
    assert_eq!(server.got()[2].body, br#"{"process":{"pid":9},"input":{"stdin":"/w=="}}"#);
}

#[tokio::test]
async fn a_start_is_never_repeated_after_any_other_answer() {
    for status in [
        "400 Bad Request",
        "401 Unauthorized",
        "409 Conflict",
        "500 Internal Server Error",
        "502 Bad Gateway",
        "503 Service Unavailable",
    ] {
        let (envd, server) = client(move |_| answer(status, "text/html", b"<html>")).await;
        envd.start(Start::default()).await.map(drop).unwrap_err();
        assert_eq!(server.got().len(), 1, "{status}");
    }
    // Cut without an answer.
    let (envd, server) = client(|_| Vec::new()).await;
    let error = envd.start(Start::default()).await.map(drop).unwrap_err();
    assert!(matches!(error, Error::Transport { unsent: false, .. }), "{error:?}");
    assert_eq!(server.got().len(), 1);
}

#[tokio::test]
async fn a_start_that_does_not_begin_with_its_event_is_a_protocol_error() {
    for body in [[ended(), frame(2, b"{}")].concat(), frame(2, b"{}"), frame(0, b"\xff\xff\xff")] {
        assert!(matches!(start(open_answer(PROTO, &body)).await.map(drop), Err(Error::Protocol(_))), "{body:?}");
    }
}

#[tokio::test]
async fn a_page_with_status_200_is_not_read_as_messages() {
    let error = start(answer("200 OK", "text/html", b"<html>")).await.map(drop).unwrap_err();
    assert!(matches!(&error, Error::Protocol(text) if text.contains("text/html")), "{error:?}");
}

#[tokio::test]
async fn a_stream_without_its_end_event_or_end_frame_is_an_error_after_its_data() {
    let data = envd_api::process::process_event::DataEvent {
        output: Some(envd_api::process::process_event::data_event::Output::Stdout(Bytes::from_static(b"hi"))),
    };
    let data = frame(0, &event(wire::Event::Data(data)));
    for body in [[started(), data.clone()].concat(), [started(), data.clone(), frame(2, b"{}")].concat()] {
        let mut output = start(open_answer(PROTO, &body)).await.unwrap().output;
        assert_eq!(output.next().await.unwrap(), Some(Event::Stdout(Bytes::from_static(b"hi"))));
        assert!(matches!(output.next().await, Err(Error::Transport { unsent: false, .. })));
        assert!(matches!(output.next().await, Ok(None)));
    }
}

#[tokio::test]
async fn a_silent_server_is_a_timeout() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let facts = test_facts(format!("http://{}", listener.local_addr().unwrap()));
    let envd = Envd::with_answer_timeout(facts, Duration::from_millis(50)).unwrap();
    let error = timeout(LIMIT, envd.start(Start::default())).await.unwrap().map(drop).unwrap_err();
    assert!(matches!(error, Error::Timeout(..)), "{error:?}");
}

#[tokio::test]
async fn a_stream_of_input_names_the_process_first_and_keeps_the_order() {
    let (envd, server) = client(|_| open_answer(PROTO, &[frame(0, b""), frame(2, b"{}")].concat())).await;
    let (sink, outcome) = envd.stream_input(5);
    for part in ["a", "bc", "d"] {
        sink.send(Bytes::from_static(part.as_bytes())).await.unwrap();
    }
    drop(sink);
    timeout(LIMIT, outcome).await.unwrap().unwrap();
    let got = &server.got()[0];
    assert_eq!(got.header("transfer-encoding"), Some("chunked"));
    let (mut rest, mut messages) = (got.body.as_slice(), Vec::new());
    while let [0, a, b, c, d, tail @ ..] = rest {
        let length = usize::try_from(u32::from_be_bytes([*a, *b, *c, *d])).unwrap();
        messages.push(format!("{:?}", StreamInputRequest::decode(&tail[..length]).unwrap().event.unwrap()));
        rest = &tail[length..];
    }
    assert_eq!(messages.len(), 4);
    assert!(messages[0].contains("Pid(5)"), "{messages:?}");
    for (message, part) in messages[1..].iter().zip(["b\"a\"", "b\"bc\"", "b\"d\""]) {
        assert!(message.contains(part), "{messages:?}");
    }
}

#[tokio::test]
async fn c63_no_error_repeats_a_token_that_a_peer_echoes() {
    let (envd, _server) = client(|_| {
        answer("401 Unauthorized", "application/json", br#"{"code":401,"message":"bad token ea-token-77"}"#)
    })
    .await;
    let error = envd.start(Start::default()).await.map(drop).unwrap_err();
    assert!(matches!(&error, Error::Unauthorized(text) if text == "bad token [redacted]"), "{error:?}");
    assert!(!format!("{envd:?}").contains("ea-token-77"));
}

#[tokio::test]
async fn an_upload_names_path_and_user_and_falls_back_when_the_user_is_unknown() {
    let (envd, server) = client(|got| match got.line.contains("username=") {
        true => answer("401 Unauthorized", "application/json", br#"{"code":401,"message":"no user"}"#),
        false => answer("200 OK", "text/plain", b"[]"),
    })
    .await;
    envd.upload("/a b/ä", Upload::Gzip(Bytes::from_static(b"gz"))).await.unwrap();
    let got = server.got();
    assert_eq!(got[0].line, "POST /prefix/files?path=%2Fa+b%2F%C3%A4&username=user HTTP/1.1");
    assert_eq!(got[1].line, "POST /prefix/files?path=%2Fa+b%2F%C3%A4 HTTP/1.1");
    for (name, value) in
        [("content-type", "application/octet-stream"), ("content-encoding", "gzip"), ("accept", "application/json")]
    {
        assert_eq!(got[1].header(name), Some(value));
    }
    assert_eq!(got[1].body, b"gz");
}

/// Accepts one connection, reads the request and answers with the beginning of an endless stream.
async fn endless(listener: tokio::net::TcpListener) -> tokio::net::TcpStream {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut request = [0; 4096];
    assert!(stream.read(&mut request).await.unwrap() > 0);
    stream.write_all(&open_answer(PROTO, &started())).await.unwrap();
    stream
}

async fn listen() -> (tokio::net::TcpListener, Envd) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let facts = test_facts(format!("http://{}", listener.local_addr().unwrap()));
    (listener, Envd::new(facts).unwrap())
}

#[tokio::test]
async fn dropping_the_output_closes_its_connection_at_once() {
    use tokio::io::AsyncReadExt as _;
    let (listener, envd) = listen().await;
    let (mut stream, started) = tokio::join!(endless(listener), envd.start(Start::default()));
    drop(started.unwrap());
    let mut rest = Vec::new();
    timeout(LIMIT, stream.read_to_end(&mut rest)).await.unwrap().unwrap();
}

#[tokio::test]
async fn an_output_that_nobody_reads_is_read_ahead_by_a_bounded_amount_only() {
    use tokio::io::AsyncWriteExt as _;
    let (listener, envd) = listen().await;
    let (mut stream, started) = tokio::join!(endless(listener), envd.start(Start::default()));
    let mut started = started.unwrap();
    let output = envd_api::process::process_event::data_event::Output::Stdout(vec![7; 32 << 10].into());
    let data =
        frame(0, &event(wire::Event::Data(envd_api::process::process_event::DataEvent { output: Some(output) })));
    let mut written = 0;
    while timeout(Duration::from_millis(500), stream.write_all(&data)).await.is_ok() {
        written += data.len();
        // What is read ahead, and the sockets' own buffers.
        assert!(written < 32 << 20, "the client reads without an end");
    }
    assert!(matches!(started.output.next().await, Ok(Some(Event::Stdout(_)))));
}
