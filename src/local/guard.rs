//! The small process beside this one that ends what a violent death of it (SIGKILL, out of memory, abort) would leave behind
//! (C75): the supervisor's binary with another task, run from memory, told of each session's beginning and end.
//!
//! Without it (no binary for this machine, or the system runs nothing from memory) everything else holds.

use std::{
    ffi::CString,
    io::{self, Write as _},
    os::fd::{AsFd as _, AsRawFd as _, OwnedFd},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use process::{Pid, environment::Environment, image::ExecImage, stdio, table};
use rustix::fs::MemfdFlags;
use tokio::{io::Interest, runtime::Handle, sync::Notify};

use super::{roll::Roll, side::aside, watched::watch};
use crate::remote::PackedSupervisor;

/// Killed ones are replaced so often.
const LIVES: u32 = 3;
/// After a start that failed another waits so long, and each further time twice as long: a system that runs none costs little.
const PAUSE: Duration = Duration::from_millis(200);

/// One for all JavaScript environments of this process.
static GUARD: Mutex<Option<Guard>> = Mutex::new(None);

/// What it is to know, and how it is told.
struct Guard {
    packed: PackedSupervisor,
    runtime: Handle,
    roll: Roll,
    post: Post,
    lives: u32,
    pause: Duration,
}

/// Who stands guard.
enum Post {
    /// Nobody. The next session that begins calls one, from this moment on.
    Vacant(Option<Instant>),
    /// One is being started.
    Called,
    /// One runs.
    Held(Line),
}

/// The way to a running one.
#[derive(Clone)]
struct Line {
    /// Its standard input. Its end means the death of this process, so it is kept as long as the guard may live.
    input: Arc<OwnedFd>,
    /// It did not take everything.
    behind: Arc<Notify>,
}

fn lock() -> MutexGuard<'static, Option<Guard>> {
    GUARD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says where its binary is and on what it is started; the first word counts.
pub fn arm(runtime: &Handle, packed: PackedSupervisor) {
    lock().get_or_insert_with(|| Guard {
        packed,
        runtime: runtime.clone(),
        roll: Roll::default(),
        post: Post::Vacant(None),
        lives: LIVES,
        pause: PAUSE,
    });
}

/// A session begins. The guard is started by the first one, in the background.
pub fn begin(session: Pid) {
    if let Some(guard) = &mut *lock() {
        guard.roll.begins(session.as_raw_pid(), table::now());
        guard.tell();
        if matches!(guard.post, Post::Vacant(since) if since.is_none_or(|since| since <= Instant::now())) {
            guard.call();
        }
    }
}

/// A session has ended.
pub fn end(session: Pid) {
    if let Some(guard) = &mut *lock() {
        guard.roll.ends(session.as_raw_pid());
        guard.tell();
    }
}

impl Guard {
    /// Tells what it takes at once, and says whether that was everything.
    fn tell(&mut self) -> bool {
        let Post::Held(line) = &self.post else { return true };
        // Never a wait. A record is taken as a whole or not at all.
        match self.roll.tell(|record| stdio::send(&line.input, &record).map(drop)) {
            Ok(()) => true,
            // Who waits for its end sees to that.
            Err(error) if matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset) => true,
            Err(_) => {
                line.behind.notify_one();
                false
            }
        }
    }

    /// Starts one, if it has a life left, and another when that ends.
    fn call(&mut self) {
        if self.lives == 0 {
            return;
        }
        self.post = Post::Called;
        let packed = self.packed.clone();
        self.runtime.spawn(async move {
            match aside(move || start(&packed)).await {
                Some(Ok((pid, ended, input))) => {
                    let line = Line { input: Arc::new(input), behind: Arc::default() };
                    introduce(line.clone());
                    attend(pid, ended, line).await;
                    replace();
                }
                failed => {
                    tracing::debug!(?failed, "no guard beside this process");
                    leave_vacant();
                }
            }
        });
    }
}

/// Tells a new one everything so far.
fn introduce(line: Line) {
    if let Some(guard) = &mut *lock() {
        guard.lives -= 1;
        guard.pause = PAUSE;
        guard.post = Post::Held(line);
        guard.roll.is_new();
        guard.tell();
    }
}

/// It was killed.
fn replace() {
    if let Some(guard) = &mut *lock() {
        guard.post = Post::Vacant(None);
        guard.call();
    }
}

/// It could not be started. What that takes may be there later: descriptors, memory, processes.
fn leave_vacant() {
    if let Some(guard) = &mut *lock() {
        guard.post = Post::Vacant(Some(Instant::now() + guard.pause));
        guard.pause = guard.pause.saturating_mul(2);
    }
}

/// Tells it what it missed as soon as it listens again, until it has ended.
async fn attend(pid: Pid, ended: OwnedFd, line: Line) {
    let Ok(ended) = watch(ended, Interest::READABLE) else {
        // Nobody would see its end. It serves as long as it lives.
        return std::future::pending().await;
    };
    tokio::select! {
        _ = ended.readable() => {}
        () = catch_up(line) => {}
    }
    let _ = process::exit::reap(pid);
}

async fn catch_up(line: Line) {
    let Ok(input) = watch(line.input, Interest::WRITABLE) else {
        // The next beginning or end of a session tells it.
        return std::future::pending().await;
    };
    loop {
        line.behind.notified().await;
        while let Ok(mut room) = input.writable().await {
            if lock().as_mut().is_none_or(Guard::tell) {
                break;
            }
            room.clear_ready();
        }
    }
}

/// Its number, its identity and its standard input.
fn start(packed: &PackedSupervisor) -> io::Result<(Pid, OwnedFd, OwnedFd)> {
    // What may be short first: a start that fails is tried again.
    let mut file = std::fs::File::from(memory()?);
    let (ours, theirs) = stdio::socket_pair()?;
    stdio::set_nonblocking(&ours)?;
    let null = stdio::null()?;
    let binary =
        packed.read().and_then(|binary| binary.unpacked()).map_err(|error| io::Error::other(error.to_string()))?;
    file.write_all(&binary)?;
    let program = format!("/proc/self/fd/{}", file.as_raw_fd()).into_bytes();
    let argv = [program, b"guard".to_vec()];
    let image = ExecImage::new(&argv, &Environment::default(), None).map_err(io::Error::other)?;
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
