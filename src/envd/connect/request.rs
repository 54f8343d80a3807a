//! tonic's request body as Connect wants it.

use futures_util::TryStreamExt as _;
use http_body_util::{BodyExt as _, BodyStream};
use tonic::{Code, Status, body::Body};

use super::{envelope, method::Kind};
use crate::envd::error::Cause;

/// Makes the body of a call of this kind. One message is buffered, so that it goes with its length; a stream goes as it comes.
pub(super) async fn body(kind: Kind, body: Body) -> Result<reqwest::Body, Status> {
    if kind == Kind::ClientStream {
        let data = BodyStream::new(body).try_filter_map(|frame| std::future::ready(Ok(frame.into_data().ok())));
        return Ok(reqwest::Body::wrap_stream(data));
    }
    let mut message = body.collect().await?.to_bytes();
    if message.len() < envelope::LEN {
        return Err(Cause::Protocol.status(Code::Internal, "a request without its envelope"));
    }
    Ok(message.split_off(envelope::LEN).into())
}
