#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::future::poll_fn;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::BodyExt as _;

use super::Envelopes;
use crate::envd::{Error, connect::response::ResponseBody, test_server::frame};

/// Runs the whole body through the layer, in parts of `step` bytes: the messages as tonic is given them.
async fn run(body: &[u8], step: usize) -> Result<Vec<u8>, Error> {
    let parts: Vec<_> = body.chunks(step).map(|part| Ok::<_, std::io::Error>(Bytes::copy_from_slice(part))).collect();
    let mut envelopes = ResponseBody::stream(reqwest::Body::wrap_stream(stream::iter(parts)));
    let (mut data, mut trailers) = (Vec::new(), None);
    while let Some(frame) = envelopes.frame().await {
        match frame?.into_data() {
            Ok(bytes) => data.extend_from_slice(&bytes),
            Err(other) => trailers = other.into_trailers().ok(),
        }
    }
    assert_eq!(trailers.unwrap()["grpc-status"], "0");
    Ok(data)
}

fn messages() -> Vec<u8> {
    [frame(0, b"one"), frame(0, b""), frame(0, &[7; 300])].concat()
}

#[tokio::test]
async fn messages_pass_unchanged_however_the_stream_is_cut() {
    let body = [messages(), frame(2, b"{}")].concat();
    for step in 1..=body.len() {
        assert_eq!(run(&body, step).await.unwrap(), messages(), "step {step}");
    }
}

#[tokio::test]
async fn a_stream_that_breaks_off_anywhere_is_an_error() {
    let body = [messages(), frame(2, br#"{"metadata":{}}"#)].concat();
    for end in 0..body.len() {
        let error = run(&body[..end], 64).await.unwrap_err();
        assert!(matches!(error, Error::Transport { unsent: false, .. }), "cut at {end}: {error:?}");
    }
}

#[tokio::test]
async fn the_error_of_an_end_frame_comes_after_the_messages() {
    let body = [messages(), frame(2, br#"{"error":{"code":"unavailable","message":"bye"}}"#)].concat();
    for step in [1, 5, 1000] {
        assert!(
            matches!(run(&body, step).await, Err(Error::Unavailable { status: None, message }) if message == "bye")
        );
    }
}

#[tokio::test]
async fn hostile_frames_are_protocol_errors() {
    let too_long = [&[0][..], &u32::MAX.to_be_bytes(), b"x"].concat();
    let long_end = [&[2][..], &u32::MAX.to_be_bytes(), b"x"].concat();
    for body in
        [frame(1, b"zip"), frame(3, b"zip"), frame(0x80, b""), too_long, long_end, frame(2, b"{"), frame(2, b"[]")]
    {
        for step in [1, 1000] {
            let error = run(&[messages(), body.clone()].concat(), step).await.unwrap_err();
            assert!(matches!(error, Error::Protocol(_)), "{body:?}: {error:?}");
        }
    }
}

#[tokio::test]
async fn bytes_after_the_end_frame_are_ignored() {
    let body = [messages(), frame(2, b"{}"), frame(0, b"late")].concat();
    assert_eq!(run(&body, 1000).await.unwrap(), messages());
}

#[tokio::test]
async fn a_message_that_came_whole_is_not_copied() {
    let body = Bytes::from([frame(0, &[1; 4000]), frame(0, &[2; 4000]), frame(2, b"{}")].concat());
    let (start, end) = (body.as_ptr(), body.as_ptr().wrapping_add(body.len()));
    let mut envelopes = Envelopes::new(body.into());
    for byte in [1, 2] {
        let message = poll_fn(|cx| envelopes.poll_message(cx)).await.unwrap().unwrap();
        assert_eq!(message, vec![byte; 4000]);
        assert!(message.as_ptr() > start && message.as_ptr() < end);
    }
    assert!(poll_fn(|cx| envelopes.poll_message(cx)).await.is_none());
}
