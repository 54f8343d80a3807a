//! The connection from the edge into a sandbox: a new one for every request, as the original edge does.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::AbortHandle;

/// Ends the connection's task with the last of its users.
#[derive(Debug)]
pub struct Upstream(AbortHandle);

impl Drop for Upstream {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A connection to a port of this machine's loopback.
///
/// # Errors
/// When nobody listens there.
pub async fn dial(port: u16) -> io::Result<TcpStream> {
    let stream = match TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await {
        Ok(stream) => stream,
        Err(error) => TcpStream::connect((Ipv6Addr::LOCALHOST, port)).await.map_err(|_| error)?,
    };
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Sends a request over `io`; its body goes on flowing while the response does.
///
/// # Errors
/// When the connection breaks before the response's head.
pub async fn send<T>(io: T, request: Request<Incoming>) -> hyper::Result<(Response<Incoming>, Upstream)>
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = http1::handshake(TokioIo::new(io)).await?;
    let task = tokio::spawn(async move {
        if let Err(error) = connection.with_upgrades().await {
            tracing::debug!(%error, "connection into a sandbox ended");
        }
    });
    let upstream = Upstream(task.abort_handle());
    let response = sender.send_request(request).await?;
    Ok((response, upstream))
}
