//! One message in, many out.

use std::{convert::Infallible, future::Future, pin::Pin, sync::Arc};

use axum::{
    body::Body,
    extract::Request,
    http::{Response, StatusCode},
};
use bytes::Bytes;
use futures_util::StreamExt as _;
use prost::Message;
use serde::{Serialize, de::DeserializeOwned};

use super::{Call, Codec, Error, deadline::Deadline, envelope, error::response, header, unary};
use crate::envd::sandbox::Sandbox;

/// The messages of a stream, in order. An error ends it; the closing frame is not part of it.
/// When the client leaves, the stream is dropped.
pub type Stream<Out> = Pin<Box<dyn futures_util::Stream<Item = Result<Out, Error>> + Send>>;

/// Serves one server-streaming call. `Connect-Timeout-Ms` cuts the stream; what else it means is
/// up to the handler.
pub async fn server_stream<In, Out, Handled>(
    sandbox: Arc<Sandbox>,
    request: Request,
    handler: impl FnOnce(Call, In) -> Handled,
) -> Response<Body>
where
    In: Message + Default + DeserializeOwned,
    Out: Message + Serialize + 'static,
    Handled: Future<Output = Result<Stream<Out>, Error>>,
{
    let Some(codec) = Codec::of_stream(request.headers()) else { return unary::unsupported_media_type() };
    match open(codec, sandbox, request, handler).await {
        Ok(body) => response(StatusCode::OK, codec.stream_content_type(), body),
        Err(error) => error.into_stream(codec),
    }
}

async fn open<In, Out, Handled>(
    codec: Codec,
    sandbox: Arc<Sandbox>,
    request: Request,
    handler: impl FnOnce(Call, In) -> Handled,
) -> Result<Body, Error>
where
    In: Message + Default + DeserializeOwned,
    Out: Message + Serialize + 'static,
    Handled: Future<Output = Result<Stream<Out>, Error>>,
{
    let call = Call::new(sandbox, request.headers(), request.extensions())?;
    header::is_gzip(request.headers(), "connect-content-encoding")?;
    let deadline = Deadline::after(call.timeout);
    let body = unary::collect(request.into_body()).await?;
    let mut splitter = envelope::Splitter::default();
    splitter.push(&body);
    let message = splitter.next_message()?.ok_or_else(|| Error::invalid_argument("incomplete envelope"))?;
    if splitter.is_mid_frame() {
        return Err(Error::unimplemented("unary request has more than one message"));
    }
    let messages = handler(call, codec.decode(message)?).await?;
    Ok(Body::from_stream(frames(codec, deadline, messages)))
}

/// The body of the response. It ends with a closing frame whatever happens before.
fn frames<Out: Message + Serialize + 'static>(
    codec: Codec,
    deadline: Deadline,
    mut messages: Stream<Out>,
) -> impl futures_util::Stream<Item = Result<Bytes, Infallible>> + Send {
    async_stream::stream! {
        let passed = deadline.passed();
        tokio::pin!(passed);
        let error = loop {
            let next = tokio::select! {
                biased;
                error = &mut passed => break Some(error),
                next = messages.next() => next,
            };
            let frame = match next {
                None => break None,
                Some(message) => message.and_then(|message| envelope::message_frame(codec, &message)),
            };
            match frame {
                Ok(frame) => yield Ok(frame),
                Err(error) => break Some(error),
            }
        };
        // The handler's resources (a subscription, a watch) go before the client can call again.
        drop(messages);
        yield Ok(envelope::end_frame(error.as_ref()));
    }
}
