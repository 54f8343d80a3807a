//! Sockets of Linux.

use std::io;
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType};

/// Without SIGPIPE.
pub(super) const SEND: SendFlags = SendFlags::NOSIGNAL;

pub(super) fn socket_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?)
}
