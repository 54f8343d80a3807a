//! Prepared processes: forked children that wait for a program, so that its pid is known before it is asked for.
//!
//! The child leads its own session at once, keeps no descriptor but 0–2 and a control socket, and waits there with clean
//! signals. It gets the image (a sealed memfd) and the standard streams in one message. It answers with one byte when
//! it has taken them; then the socket closes by the exec, or carries the failure.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};
use rustix::process::Pid;

use crate::child::{self, Failure, Ready, Settings, Stage};
use crate::exit;
use crate::image::{self, ExecImage};
use crate::pidfd::PidFd;
use crate::spawn::BlockedSignals;
use crate::table;

/// Where a waiting child keeps its control socket.
const CONTROL: RawFd = 3;
/// Image, stdin, stdout, stderr.
const HANDED: usize = 4;
const HANDED_BYTES: u32 = 16;
const _: () = assert!(HANDED_BYTES as usize == HANDED * size_of::<RawFd>());
/// The child's answer when it has taken its program.
static TAKEN: u8 = b'T';

/// A child that waits for a program.
#[derive(Debug)]
pub struct Prepared {
    /// Its process id, session and group: those of the program that it will become.
    pub pid: Pid,
    /// Its identity; readable when it has died.
    pub pidfd: PidFd,
    /// Its start in clock ticks since boot: with the id, its identity for those who hold no descriptor.
    pub start_time: u64,
    control: OwnedFd,
}

/// A child that was handed its program.
#[derive(Debug)]
pub struct Starting {
    /// Its process id.
    pub pid: Pid,
    /// Its identity.
    pub pidfd: PidFd,
    /// Its start in clock ticks since boot.
    pub start_time: u64,
    control: OwnedFd,
    taken: std::cell::Cell<bool>,
}

/// What became of a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It runs the program, or did and has ended since.
    Started,
    /// It could not become the program; it has ended or is about to, and is to be reaped.
    Failed(Failure),
    /// It died before it took the program: nothing of it has run, another process may be asked.
    Untouched,
}

impl Prepared {
    /// Forks a child that waits. `settings` are those of the program to come.
    ///
    /// The child has a copy of this process' memory for as long as it waits: mark large buffers `MADV_DONTFORK`.
    pub fn fork(settings: &Settings) -> io::Result<Self> {
        let (ours, theirs) =
            rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        crate::stdio::set_nonblocking(&ours)?;
        let ready = settings.ready();
        let mut pidfd: RawFd = -1;
        // Blocked, so that no handler of ours can run in the child before it has default dispositions.
        let signals = BlockedSignals::new();
        let flags = libc::CLONE_PIDFD | libc::SIGCHLD;
        // SAFETY: a fork: no stack given, so the child goes on here on a copy of it; the last two arguments, whose order
        // differs between architectures, are both zero.
        let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0usize, &raw mut pidfd, 0usize, 0usize) };
        if pid == 0 {
            wait_and_become(theirs.as_raw_fd(), settings.dies_with_parent, &ready);
        }
        let error = io::Error::last_os_error();
        drop(signals);
        let pid = i32::try_from(pid).ok().filter(|&pid| pid > 0).and_then(Pid::from_raw).ok_or(error)?;
        // SAFETY: the kernel has just made this descriptor for us.
        let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
        let mut prepared = Self { pid, pidfd: pidfd.into(), start_time: 0, control: ours };
        match table::stat(pid) {
            Ok(stat) => prepared.start_time = stat.start_time,
            Err(error) => {
                prepared.discard();
                return Err(error);
            }
        }
        Ok(prepared)
    }

    /// Process id, start, and the descriptors of its identity and of the way to it: to be handed to another thread that has a table of
    /// descriptors of its own.
    pub fn into_parts(self) -> (Pid, u64, [OwnedFd; 2]) {
        (self.pid, self.start_time, [self.pidfd.into_owned(), self.control])
    }

    /// What was taken apart, perhaps in another thread.
    pub fn from_parts(pid: Pid, start_time: u64, [pidfd, control]: [OwnedFd; 2]) -> Self {
        Self { pid, pidfd: pidfd.into(), start_time, control }
    }

    /// Whether it still waits.
    pub fn is_waiting(&self) -> bool {
        self.pidfd.is_alive()
    }

    /// Hands it the program. `stdio` may be closed by the caller afterwards.
    ///
    /// One that was stopped goes on first. With `terminal`, `stdio[0]` becomes the controlling terminal. An error other than `EPIPE` (it is gone) means that
    /// nothing could be made for it: no memory, no descriptor. In both cases this value is lost; the child, if it still
    /// lives, leaves by itself and stays a zombie until it is reaped by pid.
    pub fn start(self, image: &ExecImage, stdio: [BorrowedFd<'_>; 3], terminal: bool) -> io::Result<Starting> {
        // Somebody may have stopped it, since its id is known. Before the message, so that no program ever sees this signal.
        let _ = self.pidfd.send(libc::SIGCONT);
        self.hand(image, stdio, terminal)
    }

    fn hand(self, image: &ExecImage, stdio: [BorrowedFd<'_>; 3], terminal: bool) -> io::Result<Starting> {
        let memfd = image.to_memfd()?;
        let descriptors = [memfd.as_fd(), stdio[0], stdio[1], stdio[2]];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(HANDED))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
        let message = [u8::from(terminal)];
        let sent = rustix::io::retry_on_intr(|| {
            rustix::net::sendmsg(&self.control, &[IoSlice::new(&message)], &mut ancillary, SendFlags::NOSIGNAL)
        });
        match sent {
            Ok(_) => {
                let Self { pid, pidfd, start_time, control } = self;
                Ok(Starting { pid, pidfd, start_time, control, taken: false.into() })
            }
            Err(Errno::CONNRESET) => Err(Errno::PIPE.into()),
            Err(error) => Err(error.into()),
        }
    }

    /// Ends a child that nobody needs and reaps it.
    pub fn discard(self) {
        // The closed socket would end it too; the signal also ends one that is stopped.
        let _ = self.pidfd.send(libc::SIGKILL);
        let _ = exit::reap_blocking(self.pid);
    }
}

impl Starting {
    /// What became of the start; `None` while it is under way. Ask again when [`Starting::report`] is readable.
    pub fn outcome(&self) -> Option<Outcome> {
        let mut answer = [0u8; 8];
        loop {
            match rustix::net::recv(&self.control, &mut answer, RecvFlags::empty()) {
                Ok((0, _)) | Err(Errno::CONNRESET | Errno::PIPE) => {
                    return Some(if self.taken.get() { Outcome::Started } else { Outcome::Untouched });
                }
                Ok((1, _)) if answer[0] == TAKEN => self.taken.set(true),
                Ok(_) => return Some(Outcome::Failed(Failure::from_bytes(answer))),
                Err(Errno::INTR) => {}
                // AGAIN, or an error that says nothing about the child; its pidfd will.
                Err(_) => return None,
            }
        }
    }

    /// Lets it go on if somebody stopped it.
    pub fn wake(&self) {
        let _ = self.pidfd.send(libc::SIGCONT);
    }

    /// Ends it, also where it does not lead its session yet: one that was stopped as soon as it was forked.
    pub fn kill(&self) {
        let _ = self.pidfd.send(libc::SIGKILL);
    }

    /// Ends it, if it still lives, and reaps it: for one that did not become its program. It was about to leave by itself; one that was
    /// stopped just before it did would be waited for in vain.
    pub fn discard(self) {
        self.kill();
        let _ = exit::reap_blocking(self.pid);
    }

    /// Becomes readable when [`Starting::outcome`] may have news.
    pub fn report(&self) -> BorrowedFd<'_> {
        self.control.as_fd()
    }
}

/// The child's whole life before exec. Async-signal-safe calls only.
fn wait_and_become(control: RawFd, dies_with_parent: bool, settings: &Ready) -> ! {
    child::default_signals();
    // SAFETY: setsid and dup2 take numbers only; both async-signal-safe. dup2 of a number onto itself changes nothing.
    unsafe {
        libc::setsid();
        libc::dup2(control, CONTROL);
        libc::fcntl(CONTROL, libc::F_SETFD, libc::FD_CLOEXEC);
    }
    if dies_with_parent {
        // A parent that has gone already is noticed by the socket's end below.
        child::die_with_parent();
    }
    child::close_from(CONTROL + 1);
    // A signal that comes now must end the waiting child, not the program that it becomes later.
    child::empty_mask();
    if let Some((handed, terminal)) = receive() {
        // SAFETY: send from this frame's memory; async-signal-safe.
        unsafe { libc::send(CONTROL, (&raw const TAKEN).cast(), 1, libc::MSG_NOSIGNAL) };
        child::make_dumpable();
        let failure = match map(handed[0]) {
            Ok(base) => {
                // SAFETY: the sealed memfd holds an image as the parent made it, mapped privately and writable just now.
                let program = unsafe { image::relocate(base) };
                child::become_program(&program, [handed[1], handed[2], handed[3]], terminal, settings)
            }
            Err(errno) => Failure { stage: Stage::Setup, errno },
        };
        let answer = failure.to_bytes();
        // SAFETY: as above.
        unsafe { libc::send(CONTROL, answer.as_ptr().cast(), answer.len(), libc::MSG_NOSIGNAL) };
    }
    // SAFETY: _exit runs nothing of the parent's. Async-signal-safe.
    unsafe { libc::_exit(127) }
}

/// Waits for the one message; `None` when the parent has gone or sent something else.
fn receive() -> Option<([RawFd; HANDED], bool)> {
    let mut byte = 0u8;
    let mut part = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    // Room for one control message with four descriptors, aligned as its header wants.
    let mut space = [0u64; 8];
    // SAFETY: all zero is a valid msghdr.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = space.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&space) as _;
    // SAFETY: recvmsg fills the buffers described above and is async-signal-safe; the CMSG macros are arithmetic.
    unsafe {
        let received = loop {
            let received = libc::recvmsg(CONTROL, &raw mut message, libc::MSG_CMSG_CLOEXEC);
            if received >= 0 || child::errno() != libc::EINTR {
                break received;
            }
        };
        let first = libc::CMSG_FIRSTHDR(&raw const message);
        let expected = libc::CMSG_LEN(HANDED_BYTES) as usize;
        if received != 1 || first.is_null() || (*first).cmsg_len as usize != expected {
            return None;
        }
        let mut handed = [0; HANDED];
        std::ptr::copy_nonoverlapping(libc::CMSG_DATA(first).cast(), handed.as_mut_ptr(), HANDED);
        Some((handed, byte != 0))
    }
}

/// Maps an image privately; its address or the error number.
fn map(memfd: RawFd) -> Result<*mut u64, i32> {
    // SAFETY: fstat fills the struct, mmap takes numbers; both are plain system calls, async-signal-safe.
    unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        if libc::fstat(memfd, &raw mut stat) == 0 {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let size = usize::try_from(stat.st_size).unwrap_or(0);
            let base = libc::mmap(std::ptr::null_mut(), size, protection, libc::MAP_PRIVATE, memfd, 0);
            if base != libc::MAP_FAILED {
                return Ok(base.cast());
            }
        }
        Err(child::errno())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Environment;
    use crate::testing::{image, wait_for};

    fn outcome_of(starting: &Starting) -> Outcome {
        let mut outcome = None;
        wait_for("the outcome", || {
            outcome = starting.outcome();
            outcome.is_some()
        });
        outcome.unwrap()
    }

    fn stop(prepared: &Prepared) {
        prepared.pidfd.send(libc::SIGSTOP).unwrap();
        wait_for("the stop", || crate::table::stat(prepared.pid).unwrap().state == b'T');
    }

    /// Waits until nobody holds the other end any more.
    fn wait_for_hangup(end: impl AsFd) {
        let mut set = [rustix::event::PollFd::new(&end, rustix::event::PollFlags::empty())];
        let limit = rustix::event::Timespec { tv_sec: 10, tv_nsec: 0 };
        assert_eq!(rustix::event::poll(&mut set, Some(&limit)).unwrap(), 1);
    }

    /// A child that was stopped before `argv` was handed to it.
    fn stopped_with(argv: &[&str]) -> Starting {
        let prepared = Prepared::fork(&Settings::default()).unwrap();
        stop(&prepared);
        let null = crate::stdio::null().unwrap();
        prepared.hand(&image(argv, &Environment::default(), None), [null.as_fd(); 3], false).unwrap()
    }

    #[test]
    fn c11_the_program_runs_under_the_pid_that_was_known_ahead() {
        let prepared = Prepared::fork(&Settings::default()).unwrap();
        let pid = prepared.pid;
        let null = crate::stdio::null().unwrap();
        let program = image(&["/bin/sh", "-c", "exit 5"], &Environment::of_this_process(), None);
        let starting = prepared.start(&program, [null.as_fd(); 3], false).unwrap();
        assert_eq!(outcome_of(&starting), Outcome::Started);
        assert_eq!(starting.pid, pid);
        assert_eq!(exit::reap_blocking(pid).unwrap(), Some(exit::Exit::Code(5)));
    }

    #[test]
    fn a_waiting_child_holds_no_descriptor_of_its_parent() {
        let (read, write) = crate::pipe::pair().unwrap();
        let prepared = Prepared::fork(&Settings::default()).unwrap();
        drop(write);
        wait_for_hangup(&read);
        prepared.discard();
    }

    #[test]
    fn a_child_that_was_killed_while_it_waited_is_noticed() {
        let prepared = Prepared::fork(&Settings::default()).unwrap();
        assert!(prepared.is_waiting());
        prepared.pidfd.send(libc::SIGTERM).unwrap();
        wait_for("its end", || !prepared.is_waiting());
        // A child that another test forks just now holds its end of the socket too, until it has closed what is not its own.
        wait_for_hangup(&prepared.control);
        let pid = prepared.pid;
        let null = crate::stdio::null().unwrap();
        let program = image(&["/bin/true"], &Environment::default(), None);
        let error = prepared.start(&program, [null.as_fd(); 3], false).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EPIPE));
        assert_eq!(exit::reap(pid).unwrap(), Some(exit::Exit::Signal { number: libc::SIGTERM, core: false }));
    }

    #[test]
    fn a_child_that_is_killed_before_it_took_its_program_has_run_nothing_of_it() {
        let starting = stopped_with(&["/bin/true"]);
        assert_eq!(starting.outcome(), None);
        starting.pidfd.send(libc::SIGKILL).unwrap();
        assert_eq!(outcome_of(&starting), Outcome::Untouched);
        exit::reap_blocking(starting.pid).unwrap();
    }

    #[test]
    fn c21_a_child_that_is_stopped_before_it_leaves_is_not_waited_for() {
        let starting = stopped_with(&["/nonexistent"]);
        let pid = starting.pid;
        let (told, heard) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            starting.discard();
            told.send(()).unwrap();
        });
        let is_over = heard.recv_timeout(std::time::Duration::from_secs(10)).is_ok();
        // Whatever the test says, nothing of it stays.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        assert!(is_over);
    }

    #[test]
    fn c11_a_child_that_was_stopped_while_it_waited_goes_on_with_its_program() {
        let prepared = Prepared::fork(&Settings::default()).unwrap();
        stop(&prepared);
        let null = crate::stdio::null().unwrap();
        let program = image(&["/bin/sh", "-c", "exit 5"], &Environment::of_this_process(), None);
        let starting = prepared.start(&program, [null.as_fd(); 3], false).unwrap();
        assert_eq!(outcome_of(&starting), Outcome::Started);
        assert_eq!(exit::reap_blocking(starting.pid).unwrap(), Some(exit::Exit::Code(5)));
    }

    #[test]
    fn a_waiting_child_leaves_when_its_parent_has_gone() {
        let Prepared { pid, pidfd, control, .. } = Prepared::fork(&Settings::default()).unwrap();
        drop(control);
        wait_for("its end", || !pidfd.is_alive());
        assert_eq!(exit::reap(pid).unwrap(), Some(exit::Exit::Code(127)));
    }
}
