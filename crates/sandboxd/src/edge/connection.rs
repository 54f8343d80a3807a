//! One client connection.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use super::{Edge, proxy};
use crate::hook::FaultStream;

/// What the original edge allows.
const STREAMS: u32 = 100;

/// Window of one HTTP/2 stream: a client that does not read holds up so many bytes of its sandbox and no more.
const WINDOW: u32 = 4 << 20;

/// Serves requests until either side or the administration ends the connection.
pub async fn serve(stream: TcpStream, peer: SocketAddr, edge: Arc<Edge>, shutdown: CancellationToken) {
    // Small frames are answers that somebody waits for.
    let _ = stream.set_nodelay(true);
    let registration = edge.links.open(peer);
    let link = Arc::clone(&registration.link);
    let io = TokioIo::new(FaultStream::new(stream, registration));
    let service = service_fn(|request| {
        let (edge, link) = (Arc::clone(&edge), Arc::clone(&link));
        async move { Ok::<_, Infallible>(proxy::answer(&edge, &link, request).await) }
    });
    let mut server = Builder::new(TokioExecutor::new());
    server
        .http2()
        .max_concurrent_streams(STREAMS)
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(WINDOW * 4)
        .max_frame_size(64 << 10);
    tokio::select! {
        ended = server.serve_connection_with_upgrades(io, service) => if let Err(error) = ended {
            tracing::debug!(%error, %peer, "connection ended");
        },
        () = link.over() => {}
        () = shutdown.cancelled() => {}
    }
}
