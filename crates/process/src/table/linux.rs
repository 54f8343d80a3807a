//! From `/proc`.

use std::io;
use std::path::PathBuf;

use rustix::process::Pid;
use rustix::time::{ClockId, clock_gettime};

use super::{Snapshot, Stat, is_want};

/// Facts of process `pid`; `ENOENT` or `ESRCH` when there is none.
pub fn stat(pid: Pid) -> io::Result<Stat> {
    read_stat(&PathBuf::from(format!("/proc/{}/stat", pid.as_raw_pid())))
}

pub(crate) fn read_stat(path: &std::path::Path) -> io::Result<Stat> {
    parse_stat(&std::fs::read(path)?).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
}

fn parse_stat(text: &[u8]) -> Option<Stat> {
    // The name is in parentheses and may hold parentheses and blanks itself: the last one ends it.
    let open = text.iter().position(|&byte| byte == b'(')?;
    let close = text.iter().rposition(|&byte| byte == b')')?;
    let pid = std::str::from_utf8(&text[..open]).ok()?.trim().parse().ok()?;
    let rest: Vec<&str> = std::str::from_utf8(text.get(close + 1..)?).ok()?.split_ascii_whitespace().collect();
    let number = |index: usize| rest.get(index)?.parse().ok();
    Some(Stat {
        pid,
        name: text.get(open + 1..close)?.to_vec(),
        state: *rest.first()?.as_bytes().first()?,
        parent: number(1)?,
        group: number(2)?,
        session: number(3)?,
        terminal: number(4)?,
        start_time: rest.get(19)?.parse().ok()?,
    })
}

/// Clock ticks since boot.
pub fn now() -> u64 {
    let time = clock_gettime(ClockId::Boottime);
    let (seconds, nanoseconds) = (u64::try_from(time.tv_sec).unwrap_or(0), u64::try_from(time.tv_nsec).unwrap_or(0));
    let ticks = rustix::param::clock_ticks_per_second();
    seconds * ticks + nanoseconds * ticks / 1_000_000_000
}

/// The real user of process `pid`. Not the owner of its `/proc` directory, which is root for a non-dumpable one.
pub fn user(pid: Pid) -> io::Result<u32> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", pid.as_raw_pid()))?;
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    let user = line.and_then(|ids| ids.split_ascii_whitespace().next()?.parse().ok());
    user.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
}

/// Reads the facts of all processes once.
pub fn snapshot() -> io::Result<Snapshot> {
    if !shows_this_namespace()? {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "/proc is not that of this pid namespace"));
    }
    let mut snapshot = Snapshot::default();
    for entry in std::fs::read_dir("/proc")? {
        let entry = entry?;
        let name = entry.file_name();
        if !name.to_str().is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit())) {
            continue;
        }
        match read_stat(&entry.path().join("stat")) {
            Ok(stat) => snapshot.processes.push(stat),
            Err(error) if is_want(&error) => return Err(error),
            Err(_) => snapshot.incomplete = true,
        }
    }
    Ok(snapshot)
}

/// Whether the numbers in `/proc` mean what they mean to the system calls of this process. Whoever enters a pid namespace without mounting
/// `/proc` anew (`unshare --pid`, `bwrap --unshare-pid`) sees the numbers of the outer one.
fn shows_this_namespace() -> io::Result<bool> {
    // One number for each namespace from that of `/proc` inwards.
    let status = match std::fs::read_to_string("/proc/self/status") {
        Err(error) if is_want(&error) => return Err(error),
        status => status.unwrap_or_default(),
    };
    let numbers =
        ["NSpid:", "Pid:"].into_iter().find_map(|name| status.lines().find_map(|line| line.strip_prefix(name)));
    Ok(numbers.is_some_and(|numbers| numbers.trim() == std::process::id().to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_and_blanks_does_not_shift_the_fields() {
        let text = b"42 (a) b (c) S 1 40 39 34816 41 4194304 0 0 0 0 0 0 0 0 20 0 1 0 777 0 0";
        let stat = parse_stat(text).unwrap();
        assert_eq!((stat.pid, &stat.name[..], stat.state), (42, &b"a) b (c"[..], b'S'));
        assert_eq!((stat.parent, stat.group, stat.session, stat.terminal), (1, 40, 39, 34816));
        assert_eq!(stat.start_time, 777);
        assert_eq!(parse_stat(b"42 (x"), None);
    }
}
