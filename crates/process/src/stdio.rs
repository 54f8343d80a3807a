//! Descriptors for the standard streams of a command.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::fs::{Mode, OFlags};

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(target_os = "macos")]
use macos as system;

/// The null device, open both ways.
pub fn null() -> io::Result<OwnedFd> {
    Ok(rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?)
}

/// A connected pair of Unix stream sockets, what Node gives its children as standard input: (ours, theirs). Both are close-on-exec.
pub fn socket_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    system::socket_pair()
}

/// Sends on a socket of [`socket_pair`], ours. Without SIGPIPE when nobody has the other end any more: that is `EPIPE` only. May take a
/// part; what it can't take at all is `WouldBlock` for a non-blocking one.
pub fn send(socket: impl AsFd, bytes: &[u8]) -> io::Result<usize> {
    let sent = rustix::io::retry_on_intr(|| rustix::net::send(&socket, bytes, system::SEND));
    Ok(sent?)
}

/// Makes reads and writes of this open file description return at once.
pub fn set_nonblocking(descriptor: impl AsFd) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(&descriptor)?;
    Ok(rustix::fs::fcntl_setfl(&descriptor, flags | OFlags::NONBLOCK)?)
}

/// The same file at a number ≥ 3, so that a child can put it in place of 0–2 in any order.
pub fn above_stdio(descriptor: OwnedFd) -> io::Result<OwnedFd> {
    if descriptor.as_raw_fd() >= 3 {
        return Ok(descriptor);
    }
    Ok(rustix::io::fcntl_dupfd_cloexec(&descriptor, 3)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_low_descriptor_is_moved_and_a_high_one_kept() {
        let high = null().unwrap();
        let number = high.as_raw_fd();
        assert_eq!(above_stdio(high).unwrap().as_raw_fd(), number);
    }

    #[test]
    fn a_nonblocking_end_says_so_and_its_peer_still_blocks() {
        let (ours, theirs) = socket_pair().unwrap();
        set_nonblocking(&ours).unwrap();
        let mut buffer = [0; 1];
        assert_eq!(rustix::io::read(&ours, &mut buffer).unwrap_err(), rustix::io::Errno::AGAIN);
        assert!(!rustix::fs::fcntl_getfl(&theirs).unwrap().contains(OFlags::NONBLOCK));
    }

    #[test]
    fn what_nobody_can_receive_any_more_is_an_error_and_no_signal() {
        let (ours, theirs) = socket_pair().unwrap();
        assert_eq!(send(&ours, b"abc").unwrap(), 3);
        drop(theirs);
        // SIGPIPE is ignored in test programs, so let it end one that would get it.
        // SAFETY: both take numbers and a constant; nothing else of this process writes to a broken pipe meanwhile.
        let before = unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
        let error = send(&ours, b"abc").unwrap_err();
        // SAFETY: as above.
        unsafe { libc::signal(libc::SIGPIPE, before) };
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}
