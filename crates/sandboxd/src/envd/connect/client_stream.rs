//! Many messages in, one out.

use std::{future::Future, marker::PhantomData, sync::Arc};

use axum::{
    body::{Body, BodyDataStream},
    extract::Request,
    http::{Response, StatusCode},
};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use prost::Message;
use serde::{Serialize, de::DeserializeOwned};

use super::{
    Call, Code, Codec, Error,
    envelope::{self, Splitter},
    error::response,
    header, unary,
};
use crate::envd::sandbox::Sandbox;

/// How much of a request is read before an early error is answered. The daemon's HTTP server does
/// the same before it gives up on a request's body.
const HELD_BACK: usize = 256 << 10;

/// The messages of a client stream, decoded as they come.
pub struct Messages<In> {
    codec: Codec,
    body: BodyDataStream,
    splitter: Splitter,
    message: PhantomData<fn() -> In>,
}

impl<In: Message + Default + DeserializeOwned> Messages<In> {
    /// The next message, or `None` at the end of the request.
    ///
    /// # Errors
    /// `invalid_argument` for a broken frame, `unknown` when the client went away.
    pub async fn next(&mut self) -> Result<Option<In>, Error> {
        loop {
            if let Some(message) = self.splitter.next_message()? {
                return self.codec.decode(message).map(Some);
            }
            match self.body.next().await {
                Some(Ok(bytes)) => self.splitter.push(&bytes),
                Some(Err(error)) => return Err(Error::new(Code::Unknown, format!("error streaming input: {error}"))),
                None if self.splitter.is_mid_frame() => {
                    return Err(Error::invalid_argument("protocol error: incomplete envelope"));
                }
                None => return Ok(None),
            }
        }
    }

    /// Reads on without looking, as far as the real daemon would.
    async fn discard(&mut self) {
        let mut left = HELD_BACK;
        while left > 0 {
            match self.body.next().await {
                Some(Ok(bytes)) => left = left.saturating_sub(bytes.len()),
                Some(Err(_)) | None => return,
            }
        }
    }
}

/// Serves one client-streaming call. An error is held back until the request has ended or more
/// than 256 KiB of it were ignored, as with the real daemon: clients can't wait for it.
pub async fn client_stream<In, Out, Handled>(
    sandbox: Arc<Sandbox>,
    request: Request,
    handler: impl FnOnce(Call, Messages<In>) -> Handled,
) -> Response<Body>
where
    In: Message + Default + DeserializeOwned,
    Out: Message + Serialize,
    Handled: Future<Output = (Result<Out, Error>, Messages<In>)>,
{
    let Some(codec) = Codec::of_stream(request.headers()) else { return unary::unsupported_media_type() };
    let call = header::is_gzip(request.headers(), "connect-content-encoding")
        .and_then(|_| Call::new(sandbox, request.headers(), request.extensions()));
    let body = request.into_body().into_data_stream();
    let messages = Messages { codec, body, splitter: Splitter::default(), message: PhantomData };
    let (result, mut rest) = match call {
        Ok(call) => handler(call, messages).await,
        Err(error) => (Err(error), messages),
    };
    match result.and_then(|reply| envelope::message_frame(codec, &reply)) {
        Ok(frame) => {
            let mut body = BytesMut::from(&frame[..]);
            body.extend_from_slice(&envelope::end_frame(None));
            let body: Bytes = body.freeze();
            response(StatusCode::OK, codec.stream_content_type(), Body::from(body))
        }
        Err(error) => {
            rest.discard().await;
            error.into_stream(codec)
        }
    }
}
