//! One message in, one message out.

use std::{future::Future, sync::Arc};

use axum::{
    body::Body,
    extract::Request,
    http::{Response, StatusCode, header::HeaderValue},
};
use bytes::{Bytes, BytesMut};
use prost::Message;
use serde::{Serialize, de::DeserializeOwned};

use super::{Call, Codec, Error, envelope, error::response, header};
use crate::envd::sandbox::Sandbox;

/// Serves one unary call.
pub async fn unary<In, Out, Handled>(
    sandbox: Arc<Sandbox>,
    request: Request,
    handler: impl FnOnce(Call, In) -> Handled,
) -> Response<Body>
where
    In: Message + Default + DeserializeOwned,
    Out: Message + Serialize,
    Handled: Future<Output = Result<Out, Error>>,
{
    let Some(codec) = Codec::of_unary(request.headers()) else { return unsupported_media_type() };
    match answer(codec, sandbox, request, handler).await {
        Ok(body) => response(StatusCode::OK, codec.unary_content_type(), Body::from(body)),
        Err(error) => error.into_unary(),
    }
}

async fn answer<In, Out, Handled>(
    codec: Codec,
    sandbox: Arc<Sandbox>,
    request: Request,
    handler: impl FnOnce(Call, In) -> Handled,
) -> Result<Bytes, Error>
where
    In: Message + Default + DeserializeOwned,
    Out: Message + Serialize,
    Handled: Future<Output = Result<Out, Error>>,
{
    let call = Call::new(sandbox, request.headers(), request.extensions())?;
    let gzip = header::is_gzip(request.headers(), "content-encoding")?;
    let mut body = collect(request.into_body()).await?;
    if gzip {
        body = envelope::inflate(&body)?;
    }
    let reply = handler(call, codec.decode(body)?).await?;
    let mut out = BytesMut::new();
    codec.encode_into(&reply, &mut out)?;
    Ok(out.freeze())
}

/// The whole body; no limit, as the daemon has none.
pub(super) async fn collect(body: Body) -> Result<Bytes, Error> {
    axum::body::to_bytes(body, usize::MAX)
        .await
        .map_err(|error| Error::new(super::Code::Unknown, format!("read message: {error}")))
}

/// The answer to a content type that this service doesn't speak: empty, with the types that it does.
pub(super) fn unsupported_media_type() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::UNSUPPORTED_MEDIA_TYPE;
    let accepted = "application/connect+json, application/connect+proto, application/json, application/proto";
    response.headers_mut().insert("accept-post", HeaderValue::from_static(accepted));
    response
}
