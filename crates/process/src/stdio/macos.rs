//! Sockets of macOS.

use std::io;
use std::os::fd::OwnedFd;

use rustix::io::FdFlags;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType};

/// That there is no SIGPIPE is the socket's own property.
pub(super) const SEND: SendFlags = SendFlags::empty();

pub(super) fn socket_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let (ours, theirs) = rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::empty(), None)?;
    for end in [&ours, &theirs] {
        rustix::io::fcntl_setfd(end, FdFlags::CLOEXEC)?;
    }
    // Ours only: the program's end is as the program expects it.
    rustix::net::sockopt::set_socket_nosigpipe(&ours, true)?;
    Ok((ours, theirs))
}
