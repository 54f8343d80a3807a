#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::task::{Context, Poll, Waker};

use envd_api::process::{
    ProcessEvent, StartResponse, process_event as wire, process_event::data_event::Output as WireOutput,
};
use futures_util::stream;
use prost::Message as _;

use super::{Envelopes, MAX_MESSAGE, State};
use crate::envd::{
    connect::{end, of_http_error},
    json,
    test_noise::{Noise, cases},
    test_server::frame,
};

fn events() -> Vec<StartResponse> {
    let event = |event| StartResponse { event: Some(ProcessEvent { event: Some(event) }) };
    vec![
        event(wire::Event::Start(wire::StartEvent { pid: 7 })),
        event(wire::Event::Data(wire::DataEvent { output: Some(WireOutput::Stdout(vec![9; 40].into())) })),
        event(wire::Event::Data(wire::DataEvent { output: Some(WireOutput::Stderr(vec![1, 2].into())) })),
        event(wire::Event::Keepalive(wire::KeepAlive {})),
        event(wire::Event::End(wire::EndEvent {
            exit_code: -1,
            exited: false,
            status: "signal: killed".into(),
            error: None,
        })),
    ]
}

const ENDS: [&str; 4] = [
    "{}",
    r#"{"metadata":{"a":["b"]}}"#,
    r#"{"error":{"code":"not_found","message":"no process 7","details":[{"type":"x","value":"eA"}]}}"#,
    r#"{"error":null}"#,
];

/// A stream's body: messages, perhaps an end.
fn body(noise: &mut Noise, messages: &[Vec<u8>]) -> Vec<u8> {
    let mut body = Vec::new();
    for _ in 0..noise.below(5) {
        body.extend(frame(0, &messages[noise.below(messages.len())]));
    }
    if noise.below(4) > 0 {
        body.extend(frame(2, noise.one(&ENDS).as_bytes()));
    }
    body
}

#[test]
fn any_stream_of_a_server_is_messages_or_an_error_and_no_more_is_kept_than_one_message() {
    let binary: Vec<Vec<u8>> = events().iter().map(|event| event.encode_to_vec()).collect();
    let text: Vec<Vec<u8>> = events().iter().map(|event| serde_json::to_vec(event).unwrap()).collect();
    let mut noise = Noise(0x00C0_FFEE);
    let mut cx = Context::from_waker(Waker::noop());
    let (mut read, mut unread, mut failed) = (0_u64, 0_u64, 0_u64);
    for case in 0..cases() {
        let is_json = noise.below(2) == 0;
        let mut bytes = body(&mut noise, if is_json { &text } else { &binary });
        noise.damage(&mut bytes);
        let parts = noise.pieces(&bytes).into_iter().map(Ok::<_, std::io::Error>);
        let mut envelopes = Envelopes::new(reqwest::Body::wrap_stream(stream::iter(parts)));
        let mut told = 0;
        loop {
            assert!(envelopes.part.capacity() <= 2 * MAX_MESSAGE, "case {case}");
            match envelopes.poll_message(&mut cx) {
                Poll::Ready(Some(Ok(message))) => {
                    told += message.len();
                    let outcome = match is_json {
                        true => json::read::<StartResponse>(&message).is_ok(),
                        false => StartResponse::decode(message).is_ok(),
                    };
                    *(if outcome { &mut read } else { &mut unread }) += 1;
                }
                Poll::Ready(Some(Err(_))) => {
                    failed += 1;
                    break;
                }
                Poll::Ready(None) => break,
                Poll::Pending => panic!("case {case}: everything is there"),
            }
        }
        assert!(matches!(envelopes.state, State::Done) && told <= bytes.len(), "case {case}");
        assert!(matches!(envelopes.poll_message(&mut cx), Poll::Ready(None)), "case {case}");
    }
    assert!(read > cases() / 2 && unread > cases() / 50 && failed > cases() / 5, "{read} {unread} {failed}");
}

#[test]
fn any_error_of_a_server_is_typed_and_its_text_is_short() {
    let bodies = [
        r#"{"code":"not_found","message":"no process 7"}"#,
        r#"{"code":404,"message":"The sandbox was not found","sandboxId":"i"}"#,
        r#"{"message":["x"],"code":{"a":[1,null,true]}}"#,
        "<html>502 Bad Gateway</html>",
        "",
    ];
    let mut noise = Noise(0x0E44_0444);
    let mut named = 0_u64;
    for case in 0..cases() {
        let mut body = noise.one(&bodies).as_bytes().to_vec();
        noise.damage(&mut body);
        let status = http::StatusCode::from_u16(u16::try_from(201 + noise.below(398)).unwrap()).unwrap();
        let error = of_http_error(status, &body);
        assert!(error.message().len() <= crate::text::MAX_TEXT + 4, "case {case}");
        named += u64::from(error.code() == tonic::Code::NotFound);
        let _ = end::of_end_frame(&body);
    }
    assert!(named > cases() / 20, "{named}");
}
