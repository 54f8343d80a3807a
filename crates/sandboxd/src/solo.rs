//! The listener of the daemon of one sandbox.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

use rustix::net::AddressFamily;

use crate::envd::Listener;

/// A listening socket that this process has inherited under the number `fd`.
///
/// # Errors
/// When it is no socket of the Unix or internet family.
pub fn inherited(fd: RawFd) -> io::Result<Listener> {
    if fd <= 2 {
        return Err(io::Error::other("descriptors up to 2 are standard input, output and error"));
    }
    // SAFETY: the caller of the program hands this descriptor over; nothing else in this process knows its number, and an
    // unopened one fails in the next call.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    let family = rustix::net::getsockname(&socket)?.address_family();
    match family {
        AddressFamily::UNIX => {
            let listener = std::os::unix::net::UnixListener::from(socket);
            listener.set_nonblocking(true)?;
            Ok(Listener::Unix(tokio::net::UnixListener::from_std(listener)?))
        }
        AddressFamily::INET | AddressFamily::INET6 => {
            let listener = std::net::TcpListener::from(socket);
            listener.set_nonblocking(true)?;
            Ok(Listener::Tcp(tokio::net::TcpListener::from_std(listener)?))
        }
        other => Err(io::Error::other(format!("no listener for sockets of family {other:?}"))),
    }
}

/// A new listening socket.
///
/// # Errors
/// When the address is taken.
pub async fn bound(address: SocketAddr) -> io::Result<Listener> {
    Ok(Listener::Tcp(tokio::net::TcpListener::bind(address).await?))
}
