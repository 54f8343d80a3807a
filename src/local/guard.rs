//! The small process beside this one that ends what a violent death of it (SIGKILL, out of memory, abort) would leave behind
//! (C75): the supervisor's binary with another task, run from memory, told of each session's beginning and end.
//!
//! Without it (no binary for this machine, or the system runs nothing from memory) everything else holds.

use std::{
    collections::HashSet,
    ffi::CString,
    io::{self, Write as _},
    os::fd::{AsFd as _, AsRawFd as _, OwnedFd},
    sync::{Mutex, MutexGuard, PoisonError},
};

use process::{Pid, environment::Environment, image::ExecImage, stdio};
use rustix::fs::MemfdFlags;
use tokio::{io::Interest, runtime::Handle};

use super::{side::aside, watched::watch};
use crate::remote::PackedSupervisor;

/// Killed ones are replaced so often.
const LIVES: u32 = 3;

/// One for all JavaScript environments of this process.
static GUARD: Mutex<Option<Guard>> = Mutex::new(None);

/// What it is to know, and how it is told.
struct Guard {
    packed: PackedSupervisor,
    runtime: Handle,
    sessions: HashSet<i32>,
    /// Its standard input, once it runs.
    told: Option<OwnedFd>,
    lives: u32,
}

fn lock() -> MutexGuard<'static, Option<Guard>> {
    GUARD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says where its binary is and on what it is started; the first word counts.
pub fn arm(runtime: &Handle, packed: PackedSupervisor) {
    lock().get_or_insert_with(|| Guard {
        packed,
        runtime: runtime.clone(),
        sessions: HashSet::new(),
        told: None,
        lives: LIVES,
    });
}

/// A session begins. The guard is started by the first one, in the background.
pub fn begin(session: Pid) {
    if let Some(guard) = &mut *lock() {
        let first = guard.sessions.is_empty() && guard.lives == LIVES;
        guard.sessions.insert(session.as_raw_pid());
        guard.tell(session.as_raw_pid(), true);
        if first {
            guard.live();
        }
    }
}

/// A session has ended.
pub fn end(session: Pid) {
    if let Some(guard) = &mut *lock()
        && guard.sessions.remove(&session.as_raw_pid())
    {
        guard.tell(session.as_raw_pid(), false);
    }
}

impl Guard {
    fn tell(&mut self, session: i32, begins: bool) {
        let Some(told) = &self.told else { return };
        let record = record(session, begins);
        // SAFETY: sends from memory that is ours. No SIGPIPE, and never a wait: a guard that does not listen is as good as none.
        let sent = unsafe {
            libc::send(told.as_raw_fd(), record.as_ptr().cast(), record.len(), libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT)
        };
        if sent < 0 {
            self.told = None;
        }
    }

    /// Starts one, if it has a life left, and another when that ends.
    fn live(&mut self) {
        if self.lives == 0 {
            return;
        }
        self.lives -= 1;
        let packed = self.packed.clone();
        self.runtime.spawn(async move {
            let started = aside(move || start(&packed)).await;
            let Some(Ok((pid, ended, told))) = started else {
                tracing::debug!(?started, "no guard beside this process");
                return;
            };
            introduce(told);
            if let Ok(ended) = watch(ended, Interest::READABLE) {
                let _ = ended.readable().await;
                let _ = process::exit::reap(pid);
            }
            if let Some(guard) = &mut *lock() {
                guard.told = None;
                guard.live();
            }
        });
    }
}

/// Tells a new one everything so far.
fn introduce(told: OwnedFd) {
    if let Some(guard) = &mut *lock() {
        guard.told = Some(told);
        for session in guard.sessions.clone() {
            guard.tell(session, true);
        }
    }
}

fn record(session: i32, begins: bool) -> [u8; 8] {
    let mut record = [0; 8];
    record[..4].copy_from_slice(&session.to_ne_bytes());
    record[4..].copy_from_slice(&u32::from(begins).to_ne_bytes());
    record
}

/// Its number, its identity and its standard input.
fn start(packed: &PackedSupervisor) -> io::Result<(Pid, OwnedFd, OwnedFd)> {
    let binary =
        packed.read().and_then(|binary| binary.unpacked()).map_err(|error| io::Error::other(error.to_string()))?;
    let mut file = std::fs::File::from(memory()?);
    file.write_all(&binary)?;
    let program = format!("/proc/self/fd/{}", file.as_raw_fd()).into_bytes();
    let argv = [program, b"guard".to_vec()];
    let image = ExecImage::new(&argv, &Environment::default(), None).map_err(io::Error::other)?;
    let (ours, theirs) = stdio::socket_pair()?;
    let null = stdio::null()?;
    let stdio = [theirs.as_fd(), null.as_fd(), null.as_fd()];
    let started =
        process::spawn::spawn(image, stdio, false, &process::Settings::default()).map_err(io::Error::other)?;
    Ok((started.pid, started.pidfd.into_owned(), ours))
}

/// An executable file without a name in any directory.
fn memory() -> io::Result<OwnedFd> {
    let name = CString::new("dsh-subprocess-guard").unwrap_or_default();
    // Newer kernels want to be told that it is to be run; older ones do not know the word.
    let executable = MemfdFlags::from_bits_retain(libc::MFD_EXEC);
    match rustix::fs::memfd_create(&name, MemfdFlags::CLOEXEC | executable) {
        Err(rustix::io::Errno::INVAL) => Ok(rustix::fs::memfd_create(&name, MemfdFlags::CLOEXEC)?),
        result => Ok(result?),
    }
}
