//! Counts and faults.

#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod support;

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::wait::within;
use support::{Service, request};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

async fn plan(service: &Service, sandbox: Option<&str>, faults: Value) {
    let path = sandbox.map_or("/_sandboxd/faults".to_owned(), |id| format!("/_sandboxd/faults/{id}"));
    let answer = service.call("PUT", &path, Some(faults)).await;
    assert_eq!(answer.status, 204, "{answer:?}");
}

/// A client and a server in a sandbox, joined by an upgraded connection: bytes in both directions at will.
async fn joined(service: &Service, sandbox: &str) -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = format!("{}-{sandbox}.sbx.localhost", listener.local_addr().unwrap().port());
    let mut client = TcpStream::connect(&service.edge).await.unwrap();
    client.set_nodelay(true).unwrap();
    let head = format!("GET / HTTP/1.1\r\nhost: {host}\r\nconnection: upgrade\r\nupgrade: bytes\r\n\r\n");
    client.write_all(head.as_bytes()).await.unwrap();
    let (mut inside, _) = within("the request arrives", listener.accept()).await.unwrap();
    inside.set_nodelay(true).unwrap();
    head_of(&mut inside).await;
    inside.write_all(b"HTTP/1.1 101 X\r\nconnection: upgrade\r\nupgrade: bytes\r\n\r\n").await.unwrap();
    head_of(&mut client).await;
    (client, inside)
}

/// Reads an HTTP head and nothing more; gives its length.
async fn head_of(stream: &mut TcpStream) -> usize {
    let mut head = Vec::new();
    within("a head", async {
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
    })
    .await;
    head.len()
}

async fn round_trip(client: &mut TcpStream, inside: &mut TcpStream) -> Duration {
    let start = Instant::now();
    within("a round trip", async {
        client.write_all(b"a").await.unwrap();
        inside.read_u8().await.unwrap();
        inside.write_all(b"b").await.unwrap();
        client.read_u8().await.unwrap();
    })
    .await;
    start.elapsed()
}

#[tokio::test]
async fn requests_are_counted_by_route_and_sandbox() {
    let service = Service::start(&[]);
    let sandbox = service.sandbox().await;
    assert_eq!(service.call("DELETE", "/_sandboxd/requests", None).await.status, 204);
    service.run_in(&sandbox, "user", "true").await;
    service.call("GET", &format!("/sandboxes/{sandbox}"), None).await;
    service.call("GET", &format!("/sandboxes/{sandbox}"), None).await;
    let counts = service.call("GET", "/_sandboxd/requests", None).await.json();
    assert_eq!(
        counts,
        json!({
            "total": 3,
            "control": {"GET /sandboxes/{id}": 2},
            "sandboxes": {&sandbox: {"POST /process.Process/Start": 1}},
        })
    );
}

#[tokio::test]
async fn the_hook_wants_a_key_and_refuses_a_plan_that_it_does_not_understand() {
    let service = Service::start(&[]);
    assert_eq!(request(&service.api, "GET", "/_sandboxd/info", &[], "").await.status, 401);
    let answer = service.call("PUT", "/_sandboxd/faults", Some(json!({"delay": 5}))).await;
    assert_eq!(answer.status, 400, "{answer:?}");
}

#[tokio::test]
async fn a_delay_adds_twice_to_the_round_trip_of_an_open_connection_and_ends_with_its_plan() {
    let service = Service::start(&[]);
    let sandbox = service.sandbox().await;
    let (mut client, mut inside) = joined(&service, &sandbox).await;
    assert!(round_trip(&mut client, &mut inside).await < Duration::from_millis(300));
    plan(&service, Some(&sandbox), json!({"delayMs": 200})).await;
    let delayed = round_trip(&mut client, &mut inside).await;
    assert!(delayed >= Duration::from_millis(400) && delayed < Duration::from_millis(750), "{delayed:?}");
    service.call("DELETE", &format!("/_sandboxd/faults/{sandbox}"), None).await;
    assert!(round_trip(&mut client, &mut inside).await < Duration::from_millis(300));
}

#[tokio::test]
async fn a_delay_does_not_limit_the_rate() {
    const SIZE: usize = 32 << 20;
    let service = Service::start(&[]);
    let sandbox = service.sandbox().await;
    let (mut client, mut inside) = joined(&service, &sandbox).await;
    plan(&service, None, json!({"delayMs": 100})).await;
    let start = Instant::now();
    let send = async { inside.write_all(&vec![7; SIZE]).await.unwrap() };
    let mut received = vec![0; SIZE];
    let receive = client.read_exact(&mut received);
    within("all bytes", async { tokio::join!(send, receive) }).await.1.unwrap();
    // One window of 64 KiB a round trip would take 100 s.
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    assert!(received.iter().all(|byte| *byte == 7));
}

#[tokio::test]
async fn a_throttle_holds_its_rate_in_its_direction() {
    const SIZE: usize = 1 << 20;
    let service = Service::start(&[]);
    let sandbox = service.sandbox().await;
    let (mut client, mut inside) = joined(&service, &sandbox).await;
    plan(&service, Some(&sandbox), json!({"throttle": {"down": SIZE}})).await;
    for (down, least, most) in [(true, 900, 1500), (false, 0, 500)] {
        let (from, to) = if down { (&mut inside, &mut client) } else { (&mut client, &mut inside) };
        let start = Instant::now();
        let (bytes, mut received) = (vec![7; SIZE], vec![0; SIZE]);
        let (sent, got) =
            within("all bytes", async { tokio::join!(from.write_all(&bytes), to.read_exact(&mut received)) }).await;
        sent.unwrap();
        got.unwrap();
        let took = u64::try_from(start.elapsed().as_millis()).unwrap();
        assert!((least..most).contains(&took), "down: {down}, {took} ms");
    }
}

#[tokio::test]
async fn a_stall_holds_bytes_without_closing_and_lets_them_go_afterwards() {
    let service = Service::start(&[]);
    let sandbox = service.sandbox().await;
    let (mut client, mut inside) = joined(&service, &sandbox).await;
    plan(&service, Some(&sandbox), json!({"stall": "down"})).await;
    // Up still flows.
    client.write_all(b"up").await.unwrap();
    let mut two = [0_u8; 2];
    within("bytes up", inside.read_exact(&mut two)).await.unwrap();
    inside.write_all(b"down").await.unwrap();
    let silent = tokio::time::timeout(Duration::from_millis(300), client.read_u8()).await;
    assert!(silent.is_err(), "nothing arrives, nothing ends: {silent:?}");
    plan(&service, Some(&sandbox), json!({})).await;
    let mut four = [0_u8; 4];
    within("bytes down", client.read_exact(&mut four)).await.unwrap();
    assert_eq!(&four, b"down");
}

#[tokio::test]
async fn a_cut_closes_open_connections_of_one_sandbox_now_in_the_way_asked_for() {
    let service = Service::start(&[]);
    let (one, other) = (service.sandbox().await, service.sandbox().await);
    for how in ["rst", "fin"] {
        let (mut client, mut inside) = joined(&service, &one).await;
        let (mut spared, mut spared_inside) = joined(&service, &other).await;
        let answer = service.call("POST", &format!("/_sandboxd/cut/{one}"), Some(json!({"how": how}))).await;
        assert_eq!(answer.json(), json!({"cut": 1}));
        let end = within("the end", client.read_u8()).await.unwrap_err().kind();
        let wanted = if how == "rst" { ErrorKind::ConnectionReset } else { ErrorKind::UnexpectedEof };
        assert_eq!(end, wanted, "{how}");
        within("the end inside", inside.read_u8()).await.unwrap_err();
        round_trip(&mut spared, &mut spared_inside).await;
    }
}

#[tokio::test]
async fn connections_are_cut_after_the_exact_number_of_bytes() {
    const LIMIT: usize = 100_000;
    let service = Service::start(&[]);
    let sandbox = service.sandbox().await;
    plan(&service, None, json!({"cut": {"everyBytes": LIMIT, "how": "fin"}})).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = format!("{}-{sandbox}.sbx.localhost", listener.local_addr().unwrap().port());
    let head = format!("GET / HTTP/1.1\r\nhost: {host}\r\n\r\n");
    let mut client = TcpStream::connect(&service.edge).await.unwrap();
    client.write_all(head.as_bytes()).await.unwrap();
    let (mut inside, _) = within("the request arrives", listener.accept()).await.unwrap();
    head_of(&mut inside).await;
    let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", 2 * LIMIT);
    inside.write_all(answer.as_bytes()).await.unwrap();
    let _ = inside.write_all(&vec![b'x'; 2 * LIMIT]).await;
    let mut received = Vec::new();
    let _ = within("the end", client.read_to_end(&mut received)).await;
    assert_eq!(head.len() + received.len(), LIMIT);
}

#[tokio::test]
async fn connections_are_cut_at_their_age() {
    let service = Service::start(&[]);
    let sandbox = service.sandbox().await;
    plan(&service, None, json!({"cut": {"everyMs": 300}})).await;
    let start = Instant::now();
    let (mut client, _inside) = joined(&service, &sandbox).await;
    assert_eq!(within("the end", client.read_u8()).await.unwrap_err().kind(), ErrorKind::ConnectionReset);
    let age = start.elapsed();
    assert!(age >= Duration::from_millis(290) && age < Duration::from_secs(2), "{age:?}");
}

#[tokio::test]
async fn chosen_requests_are_refused_and_others_pass() {
    let service = Service::start(&[]);
    let sandbox = service.sandbox().await;
    let refuse = json!([
        {"path": "/process.Process/StreamInput", "status": 404, "body": "no"},
        {"contentType": "application/proto", "status": 415},
    ]);
    plan(&service, Some(&sandbox), json!({"refuse": refuse})).await;
    let ask = async |path: &str, kind: &str| {
        let headers = [("e2b-sandbox-id", sandbox.as_str()), ("e2b-sandbox-port", "49983"), ("content-type", kind)];
        request(&service.edge, "POST", path, &headers, "{}").await
    };
    let refused = ask("/process.Process/StreamInput", "application/connect+json").await;
    assert_eq!((refused.status, refused.text().as_str()), (404, "no"));
    assert_eq!(ask("/process.Process/List", "application/proto").await.status, 415);
    assert_eq!(ask("/process.Process/List", "application/json").await.status, 200);
}

#[tokio::test]
async fn open_connections_are_listed_with_sandbox_and_bytes() {
    let service = Service::start(&[]);
    let sandbox = service.sandbox().await;
    let (mut client, mut inside) = joined(&service, &sandbox).await;
    inside.write_all(&[0; 10_000]).await.unwrap();
    client.read_exact(&mut [0; 10_000]).await.unwrap();
    // A byte may arrive a moment before it is counted.
    within("the bytes are counted", async {
        loop {
            let listed = service.call("GET", "/_sandboxd/connections", None).await.json();
            let all = listed.as_array().unwrap();
            let mine: Vec<&Value> = all.iter().filter(|one| one["sandbox"] == sandbox.as_str()).collect();
            assert_eq!((mine.len(), &mine[0]["open"]), (1, &json!(1)), "{listed}");
            if mine[0]["down"].as_u64().unwrap() >= 10_000 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}
