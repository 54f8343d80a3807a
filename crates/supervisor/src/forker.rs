//! The thread that forks.
//!
//! A fork copies the table of descriptors, and the child has to close what it got: with a thousand running commands both together
//! would cost more than the command. So this thread has a table of its own, with next to nothing in it. Its children are not the main
//! thread's either, whose children are then orphans only, however many commands run.
//!
//! It lives as long as the process: the parent-death signal of programs follows the thread that forked them.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use process::prepared::Prepared;
use process::{Pid, Settings, exit};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketFlags, SocketType,
};

use crate::memory;

/// Its stack, in bytes; waiting children have a copy of what is used of it.
const STACK: usize = 256 * 1024;
/// Descriptors of a prepared process: its identity, and the way to it.
const PARTS: usize = 2;
/// Process id (i32), start (u64), error number (i32; 0 is none).
const ANSWER: usize = 16;

/// The main thread's end.
pub struct Forker {
    channel: OwnedFd,
    asked: usize,
}

impl Forker {
    /// Starts the thread. `settings` are those of the programs to come.
    pub fn start(settings: Settings) -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC;
        let (channel, theirs) = rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        let thread = std::thread::Builder::new().name("forker".into()).stack_size(STACK);
        thread.spawn(move || serve(theirs, &settings))?;
        Ok(Self { channel, asked: 0 })
    }

    /// Asks for one more process.
    pub fn ask(&mut self) -> io::Result<()> {
        rustix::net::send(&self.channel, b"F", SendFlags::NOSIGNAL | SendFlags::DONTWAIT)?;
        self.asked += 1;
        Ok(())
    }

    /// How many are on their way.
    pub fn asked(&self) -> usize {
        self.asked
    }

    /// The next one; `None` while there is none.
    pub fn take(&mut self) -> Option<io::Result<Prepared>> {
        match receive(&self.channel, RecvFlags::DONTWAIT) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
            result => {
                self.asked = self.asked.saturating_sub(1);
                Some(result)
            }
        }
    }

    /// The next one, waited for.
    pub fn wait(&mut self) -> io::Result<Prepared> {
        let result = receive(&self.channel, RecvFlags::empty());
        self.asked = self.asked.saturating_sub(1);
        result
    }
}

impl AsFd for Forker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }
}

/// The thread: until nobody is left who could ask.
fn serve(channel: OwnedFd, settings: &Settings) {
    leave_table(&channel);
    let mut byte = [0; 1];
    while rustix::io::retry_on_intr(|| rustix::net::recv(&channel, &mut byte, RecvFlags::empty()))
        .is_ok_and(|(count, _)| count > 0)
    {
        // The child waits for long and needs none of it; shared, each page that is written to would be there twice.
        memory::hide_heap_from_children();
        let told = Prepared::fork(settings).and_then(|prepared| hand_out(&channel, prepared));
        // The thread must not end over this: its end would be that of all programs.
        if let Err(error) = told {
            let _ = refuse(&channel, &error);
        }
    }
}

/// Gets a table of descriptors with the standard streams and `channel` only. Where that is refused, the process' own one is good, but slow.
fn leave_table(channel: &OwnedFd) {
    let own = channel.as_raw_fd().cast_unsigned();
    let close = |first: u32, last: u32, flags: libc::c_uint| {
        // SAFETY: numbers only. The first call gives this thread a table of its own, and only what that one has is closed.
        first > last || unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) } == 0
    };
    if close(own + 1, u32::MAX, libc::CLOSE_RANGE_UNSHARE) {
        close(3, own - 1, 0);
    }
}

fn hand_out(channel: &OwnedFd, prepared: Prepared) -> io::Result<()> {
    let (pid, start_time, descriptors) = prepared.into_parts();
    let mut text = [0; ANSWER];
    text[..4].copy_from_slice(&pid.as_raw_pid().to_ne_bytes());
    text[4..12].copy_from_slice(&start_time.to_ne_bytes());
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(PARTS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let borrowed = descriptors.each_ref().map(AsFd::as_fd);
    ancillary.push(SendAncillaryMessage::ScmRights(&borrowed));
    let send = || rustix::net::sendmsg(channel, &[IoSlice::new(&text)], &mut ancillary, SendFlags::NOSIGNAL);
    rustix::io::retry_on_intr(send).map(drop).map_err(|error| {
        Prepared::from_parts(pid, start_time, descriptors).discard();
        error.into()
    })
}

fn refuse(channel: &OwnedFd, error: &io::Error) -> rustix::io::Result<()> {
    let mut text = [0; ANSWER];
    text[12..].copy_from_slice(&error.raw_os_error().unwrap_or(libc::EAGAIN).to_ne_bytes());
    rustix::net::send(channel, &text, SendFlags::NOSIGNAL).map(drop)
}

fn receive(channel: &OwnedFd, flags: RecvFlags) -> io::Result<Prepared> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(PARTS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut text = [0; ANSWER];
    let flags = flags | RecvFlags::CMSG_CLOEXEC;
    rustix::io::retry_on_intr(|| {
        rustix::net::recvmsg(channel, &mut [IoSliceMut::new(&mut text)], &mut ancillary, flags).map(drop)
    })?;
    let mut descriptors = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            descriptors.extend(received);
        }
    }
    let [a, b, c, d, start_time @ .., e, f, g, h] = text;
    let errno = i32::from_ne_bytes([e, f, g, h]);
    if errno != 0 {
        return Err(io::Error::from_raw_os_error(errno));
    }
    // Nothing at all is the end of the thread.
    let pid = Pid::from_raw(i32::from_ne_bytes([a, b, c, d])).ok_or(Errno::PIPE)?;
    match <[OwnedFd; PARTS]>::try_from(descriptors) {
        Ok(parts) => Ok(Prepared::from_parts(pid, u64::from_ne_bytes(start_time), parts)),
        Err(descriptors) => {
            // No room for them here. An unreaped child's number is its own, and one that was stopped would not leave by itself.
            drop(descriptors);
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            let _ = exit::reap_blocking(pid);
            Err(Errno::MFILE.into())
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use rustix::process::{Signal, kill_process};

    use super::*;

    #[test]
    fn a_stopped_child_for_whose_descriptors_there_is_no_room_is_not_waited_for() {
        let prepared = Prepared::fork(&Settings::default()).unwrap();
        prepared.pidfd.send(libc::SIGSTOP).unwrap();
        while process::table::stat(prepared.pid).unwrap().state != b'T' {
            std::thread::yield_now();
        }
        let (pid, _, [pidfd, control]) = prepared.into_parts();
        let (near, far) =
            rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
        // What is left of an answer where there was room for one descriptor only.
        let mut text = [0; ANSWER];
        text[..4].copy_from_slice(&pid.as_raw_pid().to_ne_bytes());
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let received = [pidfd.as_fd()];
        ancillary.push(SendAncillaryMessage::ScmRights(&received));
        rustix::net::sendmsg(&far, &[IoSlice::new(&text)], &mut ancillary, SendFlags::NOSIGNAL).unwrap();
        drop(control);
        let (told, heard) = channel();
        std::thread::spawn(move || told.send(receive(&near, RecvFlags::empty()).unwrap_err()).unwrap());
        let error = heard.recv_timeout(Duration::from_secs(10));
        let _ = kill_process(pid, Signal::KILL);
        assert_eq!(error.unwrap().raw_os_error(), Some(libc::EMFILE));
    }
}
