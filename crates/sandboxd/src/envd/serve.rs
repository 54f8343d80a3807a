//! Accepting connections.

use std::{future::Future, os::fd::AsFd as _, sync::Arc};

use axum::serve::ListenerExt as _;
use tokio::net::{TcpListener, UnixListener};

use super::{error::Error, options::Options, routes::router, sandbox::Sandbox};

/// A bound, listening socket.
#[derive(Debug)]
pub enum Listener {
    /// For direct use.
    Tcp(TcpListener),
    /// For use behind the edge.
    Unix(UnixListener),
}

/// Serves one sandbox on a listener until `shutdown` completes. Open calls are dropped then; the
/// processes are not ended, as that is the work of the namespace that they run in.
///
/// # Errors
/// When the listener can't be used.
pub async fn run(listener: Listener, options: Options, shutdown: impl Future<Output = ()>) -> Result<(), Error> {
    let sandbox = Arc::new(Sandbox::new(options.default_user, options.variables));
    let router = router(sandbox);
    let close_on_exec = rustix::io::FdFlags::CLOEXEC;
    let inheritable = match &listener {
        Listener::Tcp(socket) => rustix::io::fcntl_setfd(socket.as_fd(), close_on_exec),
        Listener::Unix(socket) => rustix::io::fcntl_setfd(socket.as_fd(), close_on_exec),
    };
    inheritable.map_err(|error| Error::Listener(error.into()))?;
    let serving = async {
        match listener {
            Listener::Tcp(socket) => {
                // An error is a client that has left already.
                let socket = socket.tap_io(|stream| drop(stream.set_nodelay(true)));
                axum::serve(socket, router).await
            }
            Listener::Unix(socket) => axum::serve(socket, router).await,
        }
    };
    tokio::select! {
        served = serving => served.map_err(Error::Serve),
        () = shutdown => Ok(()),
    }
}
