//! A tiny HTTP/1.1 server for tests: answers each request with the bytes that a test gives, right or wrong, and keeps what it got.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::sync::{Arc, Mutex};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

/// A request as it came; header lines in lower case, a chunked body without its chunks.
#[derive(Clone, Debug)]
pub(crate) struct Got {
    pub(crate) line: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Got {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// In place of an answer: none, on a connection that stays open.
pub(crate) const SILENCE: &[u8] = b"silence";

/// A running server; its connections end with the runtime of the test.
pub(crate) struct TestServer {
    pub(crate) url: String,
    got: Arc<Mutex<Vec<Got>>>,
}

impl TestServer {
    /// Answers every request, on any connection, with the whole bytes that `answer` makes, then closes the connection.
    pub(crate) async fn start(answer: impl Fn(&Got) -> Vec<u8> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (got, answer) = (Arc::new(Mutex::new(Vec::new())), Arc::new(answer));
        let kept = got.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (kept, answer) = (kept.clone(), answer.clone());
                tokio::spawn(async move {
                    let mut stream = stream;
                    let Some(request) = read(&mut stream).await else { return };
                    let bytes = answer(&request);
                    kept.lock().unwrap().push(request);
                    if bytes == SILENCE {
                        return std::future::pending().await;
                    }
                    let _ = stream.write_all(&bytes).await;
                    let _ = stream.shutdown().await;
                });
            }
        });
        Self { url, got }
    }

    /// The requests so far.
    pub(crate) fn got(&self) -> Vec<Got> {
        self.got.lock().unwrap().clone()
    }
}

async fn read(stream: &mut TcpStream) -> Option<Got> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut lines = head.trim_end().lines();
    let line = lines.next()?.to_owned();
    let headers: Vec<_> = lines
        .filter_map(|line| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned())))
        .collect();
    let mut body = bytes.split_off(end);
    let find = |name: &str| headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    if let Some(length) = find("content-length") {
        let length: usize = length.parse().unwrap();
        while body.len() < length {
            if stream.read_buf(&mut body).await.ok()? == 0 {
                return None;
            }
        }
    } else if find("transfer-encoding").is_some() {
        while !body.ends_with(b"0\r\n\r\n") {
            if stream.read_buf(&mut body).await.ok()? == 0 {
                return None;
            }
        }
        body = dechunk(&body);
    }
    Some(Got { line, headers, body })
}

fn dechunk(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let line_end = rest.windows(2).position(|two| two == b"\r\n").unwrap();
        let length = usize::from_str_radix(std::str::from_utf8(&rest[..line_end]).unwrap(), 16).unwrap();
        if length == 0 {
            return body;
        }
        let start = line_end + 2;
        body.extend_from_slice(&rest[start..start + length]);
        rest = &rest[start + length + 2..];
    }
}

/// A whole answer with a length.
pub(crate) fn answer(status: &str, content_type: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// An answer whose body ends with its connection.
pub(crate) fn open_answer(content_type: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes =
        format!("HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\nconnection: close\r\n\r\n").into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// One frame of a Connect stream.
pub(crate) fn frame(flags: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![flags];
    bytes.extend_from_slice(&u32::try_from(payload.len()).unwrap().to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}
