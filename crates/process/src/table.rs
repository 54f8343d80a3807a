//! Facts about processes: the kernel's table of them.

use std::io;

use rustix::process::Pid;

#[cfg(target_os = "linux")]
pub(crate) mod linux;
#[cfg(target_os = "macos")]
mod macos;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(target_os = "macos")]
use macos as system;

/// What matters here of what the kernel says about a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stat {
    /// Process id.
    pub pid: i32,
    /// Command name, at most 16 bytes, anything in it.
    pub name: Vec<u8>,
    /// State letter, as `ps` shows it. On Linux `Z` also when only the main thread has left.
    pub state: u8,
    /// Parent's id.
    pub parent: i32,
    /// Process group.
    pub group: i32,
    /// Session. On macOS 0 for a zombie, which has none there.
    pub session: i32,
    /// Device number of the controlling terminal as the kernel encodes it; 0 for none.
    pub terminal: i32,
    /// Start time: with the pid it identifies a process. Clock ticks since boot on Linux, microseconds since 1970 on macOS.
    pub start_time: u64,
}

impl Stat {
    /// Device number of the controlling terminal as `st_rdev` gives it; 0 for none.
    pub fn controlling(&self) -> u64 {
        // The old encoding of Linux has the same bits for terminals; macOS has one only.
        u64::from(self.terminal.cast_unsigned())
    }
}

/// A pass over all processes.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// Every process that could be read, in ascending pid order.
    pub processes: Vec<Stat>,
    /// Whether one vanished while it was read, so that a child of it may have been missed.
    pub incomplete: bool,
}

/// Whether something could not be learned for want of descriptors or memory: that says nothing about what was asked, and may be otherwise
/// in a moment.
pub fn is_want(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM))
}

/// Facts of process `pid`; `ENOENT` or `ESRCH` when there is none.
pub fn stat(pid: Pid) -> io::Result<Stat> {
    system::stat(pid)
}

/// The present moment in the measure of [`Stat::start_time`]: whoever is there now has not started later.
pub fn now() -> u64 {
    system::now()
}

/// The real user of process `pid`.
pub fn user(pid: Pid) -> io::Result<u32> {
    system::user(pid)
}

/// Reads the facts of all processes once.
pub fn snapshot() -> io::Result<Snapshot> {
    system::snapshot()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_in_the_snapshot_with_its_user() {
        let own = rustix::process::getpid();
        let snapshot = snapshot().unwrap();
        assert!(snapshot.processes.iter().any(|stat| stat.pid == own.as_raw_pid()));
        assert_eq!(user(own).unwrap(), rustix::process::getuid().as_raw());
    }

    #[test]
    fn who_is_there_has_not_started_later_and_who_comes_does_not_start_before() {
        let before = now();
        let child = crate::testing::Fixture::shell("sleep 60");
        let start_time = stat(child.pid).unwrap().start_time;
        assert!((before..=now()).contains(&start_time));
        child.kill();
    }
}
