//! The tower service that tonic's clients call.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use reqwest::{Client, Url};
use tonic::{Status, body::Body};

use super::{
    MAX_MESSAGE, end,
    method::Kind,
    request,
    response::{ResponseBody, protocol, transport},
};
use crate::envd::http::{join, read_body};

/// The daemon sends a keep-alive event when a stream was quiet for this long (seconds), so that no edge takes it for dead.
const KEEPALIVE_INTERVAL: HeaderValue = HeaderValue::from_static("50");
/// An error page longer than this is not read to its end.
const MAX_ERROR_BODY: usize = 64 << 10;

/// How messages are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Codec {
    /// Protobuf: what the daemon itself and its clones take.
    Binary,
    /// JSON: the only one that every compatible server takes.
    Json,
}

impl Codec {
    fn content_type(self, kind: Kind) -> &'static str {
        match (self, kind.streams()) {
            (Self::Binary, false) => "application/proto",
            (Self::Binary, true) => "application/connect+proto",
            (Self::Json, false) => "application/json",
            (Self::Json, true) => "application/connect+json",
        }
    }
}

/// One server, one way of writing messages, one lane.
#[derive(Clone, Debug)]
pub(crate) struct ConnectService {
    /// The lane.
    pub(crate) http: Client,
    /// Base URL of the server.
    pub(crate) base: Url,
    /// Headers of every request.
    pub(crate) headers: HeaderMap,
    /// How messages are written.
    pub(crate) codec: Codec,
}

impl tower_service::Service<Request<Body>> for ConnectService {
    type Response = Response<ResponseBody>;
    type Error = Status;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Status>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        Box::pin(self.clone().exchange(request))
    }
}

impl ConnectService {
    async fn exchange(self, request: Request<Body>) -> Result<Response<ResponseBody>, Status> {
        let (parts, body) = request.into_parts();
        let path = parts.uri.path();
        let kind = Kind::of(path).ok_or_else(|| protocol(format!("no method {path}")))?;
        let answer = self.send(kind, path, parts.headers, request::body(kind, body).await?).await?;
        let body = if kind.streams() {
            ResponseBody::stream(answer.into())
        } else {
            ResponseBody::unary(read_message(answer).await?)
        };
        Ok(Response::new(body))
    }

    /// Sends a request; the head of an answer that is one.
    pub(super) async fn send(
        &self,
        kind: Kind,
        path: &str,
        own: HeaderMap,
        body: reqwest::Body,
    ) -> Result<reqwest::Response, Status> {
        let mut outgoing = reqwest::Request::new(http::Method::POST, join(&self.base, path));
        *outgoing.headers_mut() = self.request_headers(kind, own);
        *outgoing.body_mut() = Some(body);
        let answer = self.http.execute(outgoing).await.map_err(|error| transport(&error))?;
        if answer.status() != StatusCode::OK {
            let status = answer.status();
            let body = read_body(answer, MAX_ERROR_BODY).await.unwrap_or_default();
            return Err(end::of_http_error(status, &body));
        }
        self.expect_content_type(kind, answer.headers())?;
        Ok(answer)
    }

    /// Our headers, the call's own ones (its metadata), and none of those that only gRPC knows.
    fn request_headers(&self, kind: Kind, own: HeaderMap) -> HeaderMap {
        let mut headers = self.headers.clone();
        for (name, value) in own {
            let Some(name) = name else { continue };
            if name != header::TE && name != header::USER_AGENT && !name.as_str().starts_with("grpc-") {
                headers.insert(name, value);
            }
        }
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.codec.content_type(kind)));
        headers.insert("connect-protocol-version", HeaderValue::from_static("1"));
        if kind.streams() {
            // No deadline header: the daemon kills the process when it passes.
            headers.insert("keepalive-ping-interval", KEEPALIVE_INTERVAL);
        }
        headers
    }

    /// A page of a proxy that answers 200 to everything must not be read as messages.
    fn expect_content_type(&self, kind: Kind, headers: &HeaderMap) -> Result<(), Status> {
        let got = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let essence = got.split(';').next().unwrap_or_default().trim();
        if essence.eq_ignore_ascii_case(self.codec.content_type(kind)) {
            return Ok(());
        }
        Err(protocol(format!("the answer has the content type {got:?}")))
    }
}

/// A whole message; one that is too large is none.
async fn read_message(answer: reqwest::Response) -> Result<Bytes, Status> {
    let message = read_body(answer, MAX_MESSAGE + 1).await.map_err(|error| transport(&error))?;
    if message.len() > MAX_MESSAGE {
        return Err(protocol(format!("an answer of more than {MAX_MESSAGE} bytes")));
    }
    Ok(message)
}
