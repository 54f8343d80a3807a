//! A daemon on a free port of loopback, and a client without any knowledge of it.

use std::{future::Future, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt as _, Full, combinators::BoxBody};
use hyper::body::{Body, Incoming};
use hyper_util::rt::TokioIo;
use sandboxd::envd::{Listener, Options, account::user_name, run};
use serde_json::{Value, json};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::oneshot,
    time::timeout,
};

use crate::events::Events;

/// No answer takes longer, however busy the machine.
const DEADLINE: Duration = Duration::from_secs(30);

/// Waits for what must come.
pub async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    timeout(DEADLINE, future).await.unwrap_or_else(|_| panic!("{what}: nothing within {DEADLINE:?}"))
}

/// A running daemon; it ends with this value.
pub struct Daemon {
    port: u16,
    _shutdown: oneshot::Sender<()>,
}

/// A whole response.
#[derive(Debug)]
pub struct Reply {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Reply {
    /// The body, which has to be JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().expect("ASCII"))
    }
}

impl Daemon {
    /// Starts one whose default user is whoever runs the test.
    pub async fn start() -> Self {
        let socket = TcpListener::bind(("127.0.0.1", 0)).await.expect("bind");
        let port = socket.local_addr().expect("address").port();
        let (shutdown, stop) = oneshot::channel::<()>();
        let default_user = user_name(rustix::process::geteuid().as_raw());
        let options = Options { default_user, ..Options::default() };
        tokio::spawn(async move {
            run(Listener::Tcp(socket), options, async move { drop(stop.await) }).await.expect("serves");
        });
        Self { port, _shutdown: shutdown }
    }

    /// Sends a request on a connection of its own. The response's body is still to come; dropping it
    /// closes the connection.
    pub async fn open<B>(&self, request: Request<B>) -> http::Response<Incoming>
    where
        B: Body<Data = Bytes, Error: std::error::Error + Send + Sync> + Send + 'static,
    {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).await.expect("connect");
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.expect("handshake");
        tokio::spawn(connection);
        soon("response", sender.send_request(request)).await.expect("response")
    }

    /// Sends a request and collects the response.
    pub async fn call(&self, method: &str, path: &str, headers: &[(&str, &str)], body: impl Into<Bytes>) -> Reply {
        let response = self.open(request(method, path, headers, full(body))).await;
        let (head, body) = response.into_parts();
        let body = soon("body", body.collect()).await.expect("body").to_bytes();
        Reply { status: head.status, headers: head.headers, body }
    }

    /// A unary call in JSON.
    pub async fn unary(&self, method: &str, message: Value) -> Reply {
        let headers = [("content-type", "application/json")];
        self.call("POST", &format!("/{method}"), &headers, message.to_string()).await
    }

    /// A server-streaming call in JSON.
    pub async fn stream(&self, method: &str, message: Value, headers: &[(&str, &str)]) -> Events {
        let headers = [&[("content-type", "application/connect+json")], headers].concat();
        let body = full(envelope(message.to_string().as_bytes()));
        let response = self.open(request("POST", &format!("/{method}"), &headers, body)).await;
        assert_eq!(response.status(), StatusCode::OK);
        Events::new(response.into_body())
    }

    /// Starts a shell script; gives its events after the start, and its pid.
    pub async fn script(&self, script: &str) -> (Events, u64) {
        let message = json!({"process": {"cmd": "/bin/sh", "args": ["-c", script]}});
        self.started(message, &[]).await
    }

    /// Starts a process; gives its events after the start, and its pid.
    pub async fn started(&self, message: Value, headers: &[(&str, &str)]) -> (Events, u64) {
        let mut events = self.stream("process.Process/Start", message, headers).await;
        let first = events.next().await.expect("start event");
        let pid = first["event"]["start"]["pid"].as_u64().unwrap_or_else(|| panic!("no pid in {first}"));
        (events, pid)
    }
}

pub fn request<B>(method: &str, path: &str, headers: &[(&str, &str)], body: B) -> Request<B> {
    let mut request = Request::builder().method(method).uri(path).header("host", "sandbox");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(body).expect("request")
}

pub fn full(body: impl Into<Bytes>) -> BoxBody<Bytes, std::convert::Infallible> {
    Full::new(body.into()).boxed()
}

/// A message in the envelope of a stream.
pub fn envelope(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).expect("short");
    [&[0], &length.to_be_bytes()[..], message].concat()
}
