//! What a handler leaves unread of a request's body.
//!
//! Were it dropped, the connection would close while the client still writes, and the client might see that instead
//! of the answer. So it is read on and thrown away, like the real daemon's server does: 256 KiB at most.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use axum::{
    body::{Body, Bytes},
    extract::Request,
    middleware::Next,
    response::Response,
};
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::BodyExt as _;

const MOST: usize = 256 << 10;

/// The layer.
pub async fn read_on(request: Request, next: Next) -> Response {
    next.run(request.map(|body| Body::new(ReadOn(Some(body))))).await
}

/// A body that outlives its handler; `None` once it has ended.
struct ReadOn(Option<Body>);

impl http_body::Body for ReadOn {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Some(body) = &mut self.0 else { return Poll::Ready(None) };
        let frame = ready!(Pin::new(body).poll_frame(cx));
        if !matches!(frame, Some(Ok(_))) {
            self.0 = None;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.0.as_ref().is_none_or(http_body::Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.0.as_ref().map_or_else(|| SizeHint::with_exact(0), http_body::Body::size_hint)
    }
}

impl Drop for ReadOn {
    fn drop(&mut self) {
        let Some(body) = self.0.take().filter(|body| !body.is_end_stream()) else { return };
        // None while the runtime ends, and the connections with it.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(throw_away(body));
        }
    }
}

async fn throw_away(mut body: Body) {
    let mut read = 0;
    while read < MOST {
        match body.frame().await {
            Some(Ok(frame)) => read += frame.data_ref().map_or(0, Bytes::len),
            Some(Err(_)) | None => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use axum::{Router, http::StatusCode, middleware, routing::post};
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::{TcpListener, TcpStream},
        time::timeout,
    };

    use super::read_on;

    const SOON: Duration = Duration::from_secs(10);

    async fn answer(client: &mut TcpStream) -> String {
        let mut bytes = Vec::new();
        while !bytes.ends_with(b"\r\n\r\n") {
            bytes.push(timeout(SOON, client.read_u8()).await.unwrap().unwrap());
        }
        String::from_utf8(bytes).unwrap()
    }

    #[tokio::test]
    async fn an_early_answer_leaves_the_connection_to_a_client_that_still_writes() {
        let refuse =
            Router::new().route("/", post(|| async { StatusCode::NOT_FOUND })).layer(middleware::from_fn(read_on));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        tokio::spawn(async move { axum::serve(listener, refuse).await });
        for _ in 0..2 {
            client.write_all(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 100000\r\n\r\n").await.unwrap();
            client.write_all(&[b'x'; 50_000]).await.unwrap();
            assert!(answer(&mut client).await.starts_with("HTTP/1.1 404 "));
            client.write_all(&[b'x'; 50_000]).await.unwrap();
        }
    }
}
