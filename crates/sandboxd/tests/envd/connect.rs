//! The protocol itself, whatever the call.

use bytes::Bytes;
use envd_api::process::{ListRequest, ListResponse, StartRequest, StartResponse, process_event::Event};
use prost::Message as _;
use serde_json::json;

use crate::daemon::{Daemon, envelope};

#[tokio::test(flavor = "multi_thread")]
async fn both_codecs_say_the_same() {
    let daemon = Daemon::start().await;
    let (_events, pid) = daemon.started(json!({"process": {"cmd": "cat"}, "tag": "t"}), &[]).await;
    let json = daemon.unary("process.Process/List", json!({})).await;
    assert_eq!(json.header("content-type"), Some("application/json"));
    assert_eq!(json.json()["processes"][0]["pid"], pid);
    let headers = [("content-type", "application/proto")];
    let proto = daemon.call("POST", "/process.Process/List", &headers, ListRequest {}.encode_to_vec()).await;
    assert_eq!(proto.header("content-type"), Some("application/proto"));
    let list = ListResponse::decode(proto.body).expect("message");
    assert_eq!(u64::from(list.processes[0].pid), pid);
    assert_eq!(list.processes[0].tag.as_deref(), Some("t"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_binary_stream_has_binary_messages_and_a_json_end() {
    let daemon = Daemon::start().await;
    let mut message = StartRequest::default();
    message.process.get_or_insert_default().cmd = "true".into();
    let headers = [("content-type", "application/connect+proto")];
    let body = envelope(&message.encode_to_vec());
    let reply = daemon.call("POST", "/process.Process/Start", &headers, body).await;
    assert_eq!(reply.header("content-type"), Some("application/connect+proto"));
    let mut rest = reply.body;
    let mut frames = Vec::new();
    while !rest.is_empty() {
        let prefix = rest.split_to(5);
        let length = u32::from_be_bytes([prefix[1], prefix[2], prefix[3], prefix[4]]) as usize;
        frames.push((prefix[0], rest.split_to(length)));
    }
    let event = |bytes: &Bytes| StartResponse::decode(bytes.clone()).expect("message").event.and_then(|e| e.event);
    assert!(matches!(event(&frames[0].1), Some(Event::Start(_))));
    assert!(matches!(event(&frames[1].1), Some(Event::End(end)) if end.exited && end.exit_code == 0));
    assert_eq!(frames[2], (2, Bytes::from_static(b"{}")));
    assert_eq!(frames.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_of_unary_calls_are_json_with_the_status_of_their_code() {
    let daemon = Daemon::start().await;
    let gone = json!({"process": {"pid": 999_999_999}});
    let table = [
        ("process.Process/CloseStdin", gone, 404, "not_found"),
        ("process.Process/CloseStdin", json!({}), 501, "unimplemented"),
        ("filesystem.Filesystem/Stat", json!({"path": "/no/such/file"}), 404, "not_found"),
        ("filesystem.Filesystem/Stat", json!({"path": "~nobody"}), 400, "invalid_argument"),
        ("filesystem.Filesystem/MakeDir", json!({"path": "/"}), 409, "already_exists"),
        ("filesystem.Filesystem/ListDir", json!({"path": "/etc/passwd"}), 400, "invalid_argument"),
    ];
    for (method, message, status, code) in table {
        let reply = daemon.unary(method, message).await;
        assert_eq!(reply.status.as_u16(), status, "{method}: {reply:?}");
        assert_eq!(reply.json()["code"], code, "{method}");
        assert_eq!(reply.header("content-type"), Some("application/json"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_content_types_versions_and_encodings_are_refused() {
    let daemon = Daemon::start().await;
    let list = async |headers: &[(&str, &str)], body: &'static [u8]| {
        daemon.call("POST", "/process.Process/List", headers, body).await.status.as_u16()
    };
    let json = ("content-type", "application/json; charset=utf-8");
    assert_eq!(list(&[("content-type", "application/grpc")], b"").await, 415);
    assert_eq!(list(&[("content-type", "application/connect+json")], b"").await, 415);
    assert_eq!(list(&[json], b"{}").await, 200);
    assert_eq!(list(&[json], b"").await, 400);
    assert_eq!(list(&[json, ("connect-protocol-version", "2")], b"{}").await, 400);
    assert_eq!(list(&[json, ("connect-timeout-ms", "soon")], b"{}").await, 400);
    assert_eq!(list(&[json, ("content-encoding", "identity")], b"{}").await, 200);
    assert_eq!(list(&[json, ("content-encoding", "zstd")], b"{}").await, 501);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_fails_at_once_is_an_end_frame_with_status_200() {
    let daemon = Daemon::start().await;
    let mut events = daemon.stream("process.Process/Connect", json!({"process": {"pid": 999_999_999}}), &[]).await;
    assert_eq!(events.error().await, "not_found");
    let headers = [("connect-timeout-ms", "0")];
    let mut events = daemon.stream("process.Process/Start", json!({"process": {"cmd": "true"}}), &headers).await;
    assert_eq!(events.error().await, "deadline_exceeded");
}
