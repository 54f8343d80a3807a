//! `supervisor join DIR [ENVIRONMENT]`: what the daemon starts. Hands its streams to the resident and waits.

use std::fs::DirBuilder;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use rustix::fs::MemfdFlags;
use rustix::io::Errno;

use crate::{guardian, socket, state, sweep};

/// A resident may leave just when it is joined; then the next one is started.
const ATTEMPTS: usize = 5;

/// Joins the resident of runtime root `directory`; returns when it has let go of the streams. What programs inherit stands in the file
/// `given`, which goes with this, or else is the own environment.
pub fn run(directory: &Path, given: Option<&Path>) -> io::Result<()> {
    // 1. What programs are to inherit, as the daemon gave it.
    let environment = in_memory(&environment(given))?;
    // 2. Enter the runtime root, made when it is missing: a start by path has no shell before it that could. The door is
    //    found by its bare name.
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
        .map_err(|error| io::Error::new(error.kind(), format!("cannot make {}: {error}", directory.display())))?;
    std::env::set_current_dir(directory)
        .map_err(|error| io::Error::new(error.kind(), format!("cannot enter {}: {error}", directory.display())))?;
    // Programs are its descendants: none may read here what was withheld from it.
    process::limits::become_undumpable()?;
    for _ in 0..ATTEMPTS {
        // 3. Connect to the resident; without one, become its parent.
        let door = connect_or_start()?;
        if !socket::is_same_user(&door) {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the door belongs to another user"));
        }
        // 4. Hand over. A resident that is just leaving hangs up without a word.
        let streams = [rustix::stdio::stdin(), rustix::stdio::stdout(), environment.as_fd()];
        if socket::send(&door, streams).is_ok() && was_taken(&door)? {
            // 5. Wait, holding neither stream: the daemon must see the end of them as soon as the resident closes them.
            close_streams()?;
            // A program that signals everything of its user need not cut the line as well.
            sweep::block_signals();
            wait_for_hangup(&door);
            return Ok(());
        }
    }
    Err(io::Error::other("the resident supervisor does not answer"))
}

/// As a file in `/proc` has it: each entry ends in NUL.
fn environment(given: Option<&Path>) -> Vec<u8> {
    let text = given.and_then(take).unwrap_or_else(own_environment);
    // The daemon says in which directory it started this (Go's `os/exec` does): not where a program will be.
    let own = std::env::current_dir().unwrap_or_default();
    let place = [b"PWD=", own.as_os_str().as_bytes()].concat();
    text.split_inclusive(|&byte| byte == 0)
        .filter(|entry| entry.strip_suffix(&[0]) != Some(&place[..]))
        .flatten()
        .copied()
        .collect()
}

/// The file's bytes; `None` when a shell that has no `/proc` could not make it.
fn take(given: &Path) -> Option<Vec<u8>> {
    let text = std::fs::read(given);
    let _ = std::fs::remove_file(given);
    text.ok()
}

fn own_environment() -> Vec<u8> {
    std::env::vars_os()
        .flat_map(|(name, value)| [name.into_vec(), b"=".to_vec(), value.into_vec(), b"\0".to_vec()].concat())
        .collect()
}

fn in_memory(text: &[u8]) -> io::Result<OwnedFd> {
    let memfd = rustix::fs::memfd_create(c"environment", MemfdFlags::CLOEXEC)?;
    let mut rest = text;
    while !rest.is_empty() {
        let written = rustix::io::write(&memfd, rest)?;
        rest = &rest[written..];
    }
    Ok(memfd)
}

fn connect_or_start() -> io::Result<OwnedFd> {
    if let Ok(door) = socket::connect() {
        return Ok(door);
    }
    // Another joiner may be starting one: look again once the directory is ours.
    let lock = socket::lock()?;
    let refused = match socket::connect() {
        Ok(door) => return Ok(door),
        Err(error) => error,
    };
    if !matches!(refused.raw_os_error(), Some(libc::ENOENT | libc::ECONNREFUSED)) {
        return Err(io::Error::new(refused.kind(), format!("cannot connect to the resident: {refused}")));
    }
    if refused.raw_os_error() == Some(libc::ECONNREFUSED) {
        // The door of a resident that was killed whole.
        state::remove_unfinished();
    }
    let listener = socket::listen()?;
    guardian::start(listener, lock)?;
    socket::connect()
}

/// Whether the resident has the descriptors; false when it hung up instead.
fn was_taken(door: &OwnedFd) -> io::Result<bool> {
    let mut byte = [0; 1];
    match rustix::io::retry_on_intr(|| rustix::io::read(door, &mut byte)) {
        Ok(count) => Ok(count == 1 && byte[0] == socket::TAKEN),
        Err(Errno::CONNRESET) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn close_streams() -> io::Result<()> {
    let null = process::stdio::null()?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    Ok(())
}

fn wait_for_hangup(door: &OwnedFd) {
    let mut byte = [0; 1];
    while matches!(rustix::io::retry_on_intr(|| rustix::io::read(door, &mut byte)), Ok(1..)) {}
}
