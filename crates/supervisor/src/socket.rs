//! The resident's door: a private Unix socket in the runtime root, and descriptors that go through it.
//!
//! The socket is bound and connected by its bare name from within the directory, since a longer path may not fit an address.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketAddrUnix, SocketFlags, SocketType,
};

/// Name of the socket in the runtime root.
pub const NAME: &str = "supervisor.sock";
/// What the resident says to a joiner whose descriptors it has.
pub const TAKEN: u8 = b'T';
/// Descriptors that a joiner hands over: stdin, stdout, its environment (a memfd with entries that end in NUL).
pub const HANDED: usize = 3;
/// How long [`lock_soon`] tries, and how often.
const PATIENCE: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(10);

fn address() -> io::Result<SocketAddrUnix> {
    Ok(SocketAddrUnix::new(NAME)?)
}

fn socket() -> io::Result<OwnedFd> {
    Ok(rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?)
}

/// Connects to the resident of the current directory.
pub fn connect() -> io::Result<OwnedFd> {
    let socket = socket()?;
    rustix::net::connect(&socket, &address()?)?;
    Ok(socket)
}

/// Binds a new door, mode 0600, in place of one that nobody listens at. Call with [`lock`] held.
pub fn listen() -> io::Result<OwnedFd> {
    match rustix::fs::unlink(NAME) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(error) => return Err(error.into()),
    }
    let socket = socket()?;
    let before = rustix::process::umask(Mode::from_raw_mode(0o177));
    let bound = rustix::net::bind(&socket, &address()?);
    rustix::process::umask(before);
    bound?;
    rustix::net::listen(&socket, 64)?;
    Ok(socket)
}

/// Locks the current directory against others that start or end a resident, until dropped. Leaves no file.
pub fn lock() -> io::Result<OwnedFd> {
    let directory = directory()?;
    rustix::io::retry_on_intr(|| rustix::fs::flock(&directory, FlockOperation::LockExclusive))?;
    Ok(directory)
}

/// The same for who has something to do that can't wait for long: whoever has the lock may be stopped.
pub fn lock_soon() -> io::Result<OwnedFd> {
    let (directory, deadline) = (directory()?, Instant::now() + PATIENCE);
    loop {
        match rustix::fs::flock(&directory, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK | Errno::INTR) if Instant::now() < deadline => std::thread::sleep(PAUSE),
            result => return Ok(result.map(|()| directory)?),
        }
    }
}

fn directory() -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
}

/// Whether the other end belongs to this very user.
pub fn is_same_user(socket: impl AsFd) -> bool {
    let peer = rustix::net::sockopt::socket_peercred(socket);
    peer.is_ok_and(|peer| peer.uid == rustix::process::geteuid())
}

/// Sends the descriptors of a joiner.
pub fn send(socket: impl AsFd, descriptors: [BorrowedFd<'_>; HANDED]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(HANDED))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
    rustix::net::sendmsg(socket, &[IoSlice::new(b"J")], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Receives the descriptors of a joiner; `WouldBlock` when they have not come.
pub fn receive(socket: impl AsFd) -> io::Result<[OwnedFd; HANDED]> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(HANDED))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0; 1];
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    rustix::net::recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut ancillary, flags)?;
    let mut received = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            received.extend(descriptors);
        }
    }
    received.try_into().map_err(|_| io::Error::from(io::ErrorKind::InvalidData))
}
