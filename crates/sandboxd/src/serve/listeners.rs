//! The sockets of the service.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::net::TcpListener;

/// Bound, listening sockets.
#[derive(Debug)]
pub struct Listeners {
    /// The control plane.
    pub control: TcpListener,
    /// The edge.
    pub edge: TcpListener,
    /// The debug mode's port, in both families where there are both; empty without debug mode.
    pub debug: Vec<TcpListener>,
}

impl Listeners {
    /// Binds. Port 0 takes a free one.
    ///
    /// # Errors
    /// When an address is taken.
    pub async fn bind(control: SocketAddr, edge: SocketAddr, debug_port: Option<u16>) -> io::Result<Self> {
        let bind = async |address: SocketAddr| {
            let named = |error: io::Error| io::Error::new(error.kind(), format!("cannot listen on {address}: {error}"));
            TcpListener::bind(address).await.map_err(named)
        };
        let mut debug = Vec::new();
        if let Some(port) = debug_port {
            let first = bind((Ipv4Addr::LOCALHOST, port).into()).await?;
            let port = first.local_addr()?.port();
            debug.push(first);
            // Clients that take `localhost` for ::1; machines without IPv6 have none.
            debug.extend(bind((Ipv6Addr::LOCALHOST, port).into()).await.ok());
        }
        Ok(Self { control: bind(control).await?, edge: bind(edge).await?, debug })
    }
}
