//! The edge: takes requests for all sandboxes and passes each to its own, streaming both ways at once.
//!
//! Routing ([`target`]): by host name `PORT-SANDBOX.anything`, else by the headers `E2b-Sandbox-Id` and `E2b-Sandbox-Port`,
//! else (file URLs under one `E2B_SANDBOX_URL` name no sandbox) by the signature. Port 49983 is the sandbox' daemon,
//! every other one a port on this machine's loopback, whose network sandboxes share. HTTP/1.1 and HTTP/2 without TLS.

pub mod answer;
pub mod connection;
pub mod headers;
pub mod proxy;
pub mod relay;
pub mod signature;
pub mod target;
pub mod upgrade;
pub mod upstream;

use std::sync::Arc;

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::hook::{Counts, Links};
use crate::sandboxes::Sandboxes;

/// The port that stands for a sandbox' daemon.
pub const DAEMON_PORT: u16 = 49_983;

/// What all requests to the edge share.
#[derive(Debug)]
pub struct Edge {
    /// Where requests go.
    pub sandboxes: Arc<Sandboxes>,
    /// Client connections and their faults.
    pub links: Arc<Links>,
    /// Request counts.
    pub counts: Arc<Counts>,
    /// Ports of this service itself, which no request is passed on to: it would come back here for ever.
    pub own_ports: Vec<u16>,
    /// Set on the listener for the SDKs' debug mode: the one sandbox that every request is for.
    pub only: Option<Arc<str>>,
}

/// Serves until `shutdown`; then closes every connection.
pub async fn run(listener: TcpListener, edge: Arc<Edge>, shutdown: CancellationToken) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = shutdown.cancelled() => return,
        };
        match accepted {
            Ok((stream, peer)) => {
                tokio::spawn(connection::serve(stream, peer, Arc::clone(&edge), shutdown.clone()));
            }
            Err(error) => {
                // Out of descriptors, most likely: give others the time to close some.
                tracing::warn!(%error, "cannot accept");
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
        }
    }
}
