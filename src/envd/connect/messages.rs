//! A stream of messages from the server, without tonic in between: it would copy every message into a buffer of its own, and the
//! one stream that the daemon has for us is where all bulk comes from.

use std::{
    future::poll_fn,
    marker::PhantomData,
    task::{Context, Poll},
};

use bytes::{BufMut as _, Bytes, BytesMut};
use http::HeaderMap;
use prost::Message;
use serde::{Serialize, de::DeserializeOwned};
use tonic::Status;

use super::{Codec, ConnectService, envelope, envelopes::Envelopes, method::Kind, response::protocol};
use crate::envd::json;

/// The messages of one call. Dropping it ends the request.
pub(crate) struct Messages<M> {
    envelopes: Envelopes,
    codec: Codec,
    message: PhantomData<fn() -> M>,
}

impl<M: Message + Default + DeserializeOwned> Messages<M> {
    /// The next message; `None` after a clean end. Bytes within it share the memory that they came in.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<M, Status>>> {
        self.envelopes.poll_message(cx).map(|message| message.map(|bytes| decode(self.codec, bytes?)))
    }

    /// The same as a future that may be dropped while it waits.
    pub(crate) async fn next(&mut self) -> Option<Result<M, Status>> {
        poll_fn(|cx| self.poll_next(cx)).await
    }
}

impl ConnectService {
    /// Calls the method at `path`, which answers with a stream. `headers` belong to this call alone.
    ///
    /// # Errors
    /// When the server refuses the call, or the connection breaks before its answer begins.
    pub(crate) async fn open<Q: Message + Serialize, A>(
        &self,
        path: &str,
        request: &Q,
        headers: HeaderMap,
    ) -> Result<Messages<A>, Status> {
        let answer = self.send(Kind::ServerStream, path, headers, enclosed(self.codec, request)?.into()).await?;
        Ok(Messages { envelopes: Envelopes::new(answer.into()), codec: self.codec, message: PhantomData })
    }
}

/// A message in its envelope.
fn enclosed<Q: Message + Serialize>(codec: Codec, message: &Q) -> Result<Bytes, Status> {
    let message = match codec {
        Codec::Binary => message.encode_to_vec(),
        Codec::Json => json::write(message)?,
    };
    let header = envelope::plain(message.len())?;
    let mut whole = BytesMut::with_capacity(header.len() + message.len());
    whole.put_slice(&header);
    whole.put_slice(&message);
    Ok(whole.freeze())
}

fn decode<M: Message + Default + DeserializeOwned>(codec: Codec, bytes: Bytes) -> Result<M, Status> {
    match codec {
        Codec::Binary => M::decode(bytes).map_err(|error| protocol(error.to_string())),
        Codec::Json => json::read(&bytes),
    }
}
