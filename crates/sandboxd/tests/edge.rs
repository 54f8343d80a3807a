//! The edge between clients and sandboxes.

#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod support;

use std::io::ErrorKind;

use bytes::Bytes;
use http_body_util::{BodyExt, StreamBody};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::json;
use support::connect::envelope;
use support::wait::within;
use support::{Service, request};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The raw head of a `Start` request over a fresh connection.
async fn raw_start(service: &Service, sandbox: &str, script: &str) -> TcpStream {
    let message = envelope(&json!({"process": {"cmd": "/bin/sh", "args": ["-c", script]}}));
    let mut stream = TcpStream::connect(&service.edge).await.unwrap();
    let head = format!(
        "POST /process.Process/Start HTTP/1.1\r\nhost: {}\r\ne2b-sandbox-id: {sandbox}\r\ne2b-sandbox-port: 49983\r\n\
         content-type: application/connect+json\r\nconnect-protocol-version: 1\r\ncontent-length: {}\r\n\r\n",
        service.edge,
        message.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&message).await.unwrap();
    stream
}

/// Reads until `mark` has come.
async fn read_to(stream: &mut TcpStream, mark: &str) {
    let mut seen = Vec::new();
    within(mark, async {
        while !String::from_utf8_lossy(&seen).contains(mark) {
            let mut buffer = [0_u8; 4096];
            let count = stream.read(&mut buffer).await.unwrap();
            assert_ne!(count, 0, "ended after {:?}", String::from_utf8_lossy(&seen));
            seen.extend_from_slice(&buffer[..count]);
        }
    })
    .await;
}

#[tokio::test]
async fn killing_a_sandbox_resets_its_streams_and_new_requests_find_it_dead() {
    let service = Service::start(&[]);
    let sandbox = service.sandbox().await;
    let mut stream = raw_start(&service, &sandbox, "sleep 1000").await;
    read_to(&mut stream, "\"start\"").await;
    let path = format!("/sandboxes/{sandbox}");
    let kill = service.call("DELETE", &path, None);
    let watch = async {
        let mut buffer = [0_u8; 4096];
        let end = loop {
            match stream.read(&mut buffer).await {
                Ok(0) => break None,
                Ok(_) => {}
                Err(error) => break Some(error.kind()),
            }
        };
        // At the very moment of the reset:
        let headers = [("e2b-sandbox-id", sandbox.as_str()), ("e2b-sandbox-port", "49983")];
        (end, request(&service.edge, "GET", "/health", &headers, "").await)
    };
    let (killed, (end, health)) = within("both", async { tokio::join!(kill, watch) }).await;
    assert_eq!(killed.status, 204);
    assert_eq!(end, Some(ErrorKind::ConnectionReset), "a reset, not an orderly end");
    assert_eq!(health.status, 502);
    assert_eq!(health.json(), json!({"sandboxId": sandbox, "message": "The sandbox was not found", "code": 502}));
}

#[tokio::test]
async fn killing_a_sandbox_leaves_the_streams_of_others() {
    let service = Service::start(&[]);
    let (one, other) = (service.sandbox().await, service.sandbox().await);
    let mut survivor = service.start_in(&other, "user", "read line; echo got $line").await;
    let pid = survivor.pid;
    assert_eq!(service.call("DELETE", &format!("/sandboxes/{one}"), None).await.status, 204);
    let input = json!({"process": {"pid": pid}, "input": {"stdin": "aGkK"}}).to_string();
    let headers =
        [("e2b-sandbox-id", other.as_str()), ("e2b-sandbox-port", "49983"), ("content-type", "application/json")];
    assert_eq!(request(&service.edge, "POST", "/process.Process/SendInput", &headers, input).await.status, 200);
    assert_eq!(survivor.output().await, "got hi\n");
}

#[tokio::test]
async fn a_request_body_and_its_response_stream_at_the_same_time() {
    let service = Service::start(&[]);
    let sandbox = service.sandbox().await;
    let mut cat = service.start_in(&sandbox, "user", "cat").await;
    let (feed, body) = futures_channel();
    let stream = TcpStream::connect(&service.edge).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let request = http::Request::post("/process.Process/StreamInput")
        .header("host", &service.edge)
        .header("e2b-sandbox-id", &sandbox)
        .header("e2b-sandbox-port", "49983")
        .header("content-type", "application/connect+json")
        .body(body)
        .unwrap();
    let answer = tokio::spawn(async move { sender.send_request(request).await });
    feed.send(envelope(&json!({"start": {"process": {"pid": cat.pid}}}))).unwrap();
    // Each line goes up and comes back before the next: nothing waits for the end of the body.
    for round in 0..5 {
        let line = format!("round {round}\n");
        let data = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, &line);
        feed.send(envelope(&json!({"data": {"input": {"stdin": data}}}))).unwrap();
        assert_eq!(within("an echo", cat.output()).await, line);
    }
    drop(feed);
    let answer = within("the answer", answer).await.unwrap().unwrap();
    assert_eq!(answer.status(), 200);
}

/// A body that is fed from outside.
fn futures_channel() -> (
    tokio::sync::mpsc::UnboundedSender<Bytes>,
    StreamBody<impl futures_util::Stream<Item = Result<hyper::body::Frame<Bytes>, std::convert::Infallible>>>,
) {
    let (feed, mut fed) = tokio::sync::mpsc::unbounded_channel();
    let frames = async_stream::stream! {
        while let Some(bytes) = fed.recv().await {
            yield Ok(hyper::body::Frame::data(bytes));
        }
    };
    (feed, StreamBody::new(Box::pin(frames)))
}

#[tokio::test]
async fn a_client_that_leaves_is_noticed_by_the_sandbox() {
    let service = Service::start(&[]);
    let sandbox = service.sandbox().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = format!("{}-{sandbox}.sbx.localhost", listener.local_addr().unwrap().port());
    let mut client = TcpStream::connect(&service.edge).await.unwrap();
    client.write_all(format!("GET /wait HTTP/1.1\r\nhost: {host}\r\n\r\n").as_bytes()).await.unwrap();
    let (mut inside, _) = within("the request arrives", listener.accept()).await.unwrap();
    read_to(&mut inside, "GET /wait").await;
    drop(client);
    let mut rest = Vec::new();
    within("the end arrives", inside.read_to_end(&mut rest)).await.ok();
}

#[tokio::test]
async fn a_users_port_is_reached_by_host_name_and_a_closed_one_says_so() {
    let service = Service::start(&[]);
    let sandbox = service.sandbox().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let host = format!("{port}-{sandbox}.sbx.localhost:9443");
    let serve = async {
        let (mut inside, _) = listener.accept().await.unwrap();
        read_to(&mut inside, "\r\n\r\nbody").await;
        inside.write_all(b"HTTP/1.1 418 X\r\ncontent-length: 5\r\nx-mine: 1\r\n\r\nhello").await.unwrap();
        inside
    };
    let headers = [("host", host.as_str())];
    let ask = request(&service.edge, "PUT", "/any/path?q=1", &headers, "body");
    let (inside, answer) = within("an answer", async { tokio::join!(serve, ask) }).await;
    assert_eq!((answer.status, answer.text().as_str()), (418, "hello"));
    assert_eq!(answer.headers["x-mine"], "1");
    drop((inside, listener));
    let closed = request(&service.edge, "GET", "/", &[("host", &host)], "").await;
    let words = "The sandbox is running but port is not open";
    assert_eq!(closed.status, 502);
    assert_eq!(closed.json(), json!({"sandboxId": sandbox, "message": words, "port": port, "code": 502}));
}

#[tokio::test]
async fn an_answer_that_breaks_off_inside_is_not_taken_for_complete() {
    let service = Service::start(&[]);
    let sandbox = service.sandbox().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = format!("{}-{sandbox}.sbx.localhost", listener.local_addr().unwrap().port());
    let mut client = TcpStream::connect(&service.edge).await.unwrap();
    client.write_all(format!("GET / HTTP/1.1\r\nhost: {host}\r\n\r\n").as_bytes()).await.unwrap();
    let (mut inside, _) = within("the request arrives", listener.accept()).await.unwrap();
    read_to(&mut inside, "\r\n\r\n").await;
    inside.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n").await.unwrap();
    read_to(&mut client, "hello").await;
    drop(inside);
    let mut rest = Vec::new();
    let end = within("the end", client.read_to_end(&mut rest)).await;
    assert_eq!(end.unwrap_err().kind(), ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn a_connection_can_be_upgraded() {
    let service = Service::start(&[]);
    let sandbox = service.sandbox().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = format!("{}-{sandbox}.sbx.localhost", listener.local_addr().unwrap().port());
    let mut client = TcpStream::connect(&service.edge).await.unwrap();
    let head = format!("GET /ws HTTP/1.1\r\nhost: {host}\r\nconnection: Upgrade\r\nupgrade: echo\r\n\r\n");
    client.write_all(head.as_bytes()).await.unwrap();
    let (mut inside, _) = within("the request arrives", listener.accept()).await.unwrap();
    read_to(&mut inside, "upgrade: echo").await;
    inside.write_all(b"HTTP/1.1 101 X\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\nfrom inside").await.unwrap();
    read_to(&mut client, "from inside").await;
    client.write_all(b"from outside").await.unwrap();
    read_to(&mut inside, "from outside").await;
    assert_eq!(service.call("DELETE", &format!("/sandboxes/{sandbox}"), None).await.status, 204);
    let mut rest = Vec::new();
    assert!(within("the end", client.read_to_end(&mut rest)).await.is_err(), "a reset");
}

#[tokio::test]
async fn http_2_without_tls_works_and_a_kill_resets_only_the_streams_of_that_sandbox() {
    let service = Service::start(&[]);
    let (one, other) = (service.sandbox().await, service.sandbox().await);
    let stream = TcpStream::connect(&service.edge).await.unwrap();
    let (sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let start = |sandbox: &str, script: &str| {
        let message = envelope(&json!({"process": {"cmd": "/bin/sh", "args": ["-c", script]}}));
        let request = http::Request::post(format!("http://{}/process.Process/Start", service.edge))
            .header("e2b-sandbox-id", sandbox)
            .header("e2b-sandbox-port", "49983")
            .header("content-type", "application/connect+json")
            .body(http_body_util::Full::new(message))
            .unwrap();
        sender.clone().send_request(request)
    };
    let mut doomed = start(&one, "sleep 1000").await.unwrap().into_body();
    let mut survivor = start(&other, "sleep 1; echo survived").await.unwrap().into_body();
    for body in [&mut doomed, &mut survivor] {
        let first = within("a start event", body.frame()).await.unwrap().unwrap();
        assert!(String::from_utf8_lossy(first.data_ref().unwrap()).contains("start"));
    }
    assert_eq!(service.call("DELETE", &format!("/sandboxes/{one}"), None).await.status, 204);
    let end = within("the reset", doomed.frame()).await;
    assert!(end.is_none_or(|frame| frame.is_err()), "no orderly frame");
    let rest = within("the rest", survivor.collect()).await.unwrap().to_bytes();
    let text = String::from_utf8_lossy(&rest);
    assert!(text.contains("c3Vydml2ZWQK") && text.contains("exit status 0"), "{text}");
}

#[tokio::test]
async fn routes_of_the_service_itself_and_requests_without_a_sandbox_are_refused() {
    let service = Service::start(&[]);
    let sandbox = service.sandbox().await;
    let headers = [("e2b-sandbox-id", sandbox.as_str()), ("e2b-sandbox-port", "49983")];
    for path in ["/init", "/freeze", "/upgrade"] {
        let answer = request(&service.edge, "POST", path, &headers, "{}").await;
        assert_eq!((answer.status, answer.json()["code"].as_u64()), (404, Some(404)), "{path}");
    }
    assert_eq!(request(&service.edge, "GET", "/health", &[], "").await.status, 400);
    assert_eq!(request(&service.edge, "GET", "/health", &headers[..1], "").await.status, 400);
    // Not even by way of a sandbox' port: that would go round in circles.
    let port = service.edge.rsplit(':').next().unwrap();
    let host = format!("{port}-{sandbox}.sbx.localhost");
    assert_eq!(request(&service.edge, "GET", "/", &[("host", &host)], "").await.status, 502);
}

#[tokio::test]
async fn a_signed_file_url_finds_its_sandbox_among_several() {
    use base64::Engine;
    use sha2::Digest;
    let service = Service::start(&[]);
    for round in 0..2 {
        let created = service.sandbox_with(json!({"secure": true})).await;
        let (id, token) = (created["sandboxID"].as_str().unwrap(), created["envdAccessToken"].as_str().unwrap());
        let headers = [("e2b-sandbox-id", id), ("e2b-sandbox-port", "49983"), ("x-access-token", token)];
        let upload = [&headers[..], &[("content-type", "application/octet-stream")]].concat();
        let answer = request(&service.edge, "POST", "/files?path=who&username=user", &upload, format!("{round}")).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let digest = sha2::Sha256::digest(format!("who:read:user:{token}"));
        let signature = format!("v1_{}", base64::engine::general_purpose::STANDARD_NO_PAD.encode(digest));
        let signature: String = form_urlencoded::byte_serialize(signature.as_bytes()).collect();
        let url = format!("/files?path=who&username=user&signature={signature}");
        let answer = request(&service.edge, "GET", &url, &[], "").await;
        assert_eq!((answer.status, answer.text()), (200, round.to_string()));
    }
}
