//! `supervisor kill PID START_TIME` and `supervisor signal NUMBER PID START_TIME …`: for members of other users, started as root by a
//! host that may.

use std::io;

use process::Pid;
use process::terminate::send_exactly;

/// The largest signal number.
const MAX_SIGNAL: u64 = 64;

/// Sends SIGKILL to process `pid` if it is the one that started at `start_time`; one that has gone is fine.
pub fn run(pid: &str, start_time: &str) -> io::Result<()> {
    let (pid, start_time) = identity(pid, start_time)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "kill wants a process id ≥ 2 and a start time"))?;
    unless_gone(send_exactly(pid, start_time, libc::SIGKILL))
}

/// Sends signal `number` to each of these processes, given by id and start time. All are tried; the first failure is told.
pub fn signal(number: &str, words: &[&str]) -> io::Result<()> {
    let invalid =
        || io::Error::new(io::ErrorKind::InvalidInput, "signal wants its number, then process ids ≥ 2 and start times");
    let number = digits(number).filter(|number| (1..=MAX_SIGNAL).contains(number)).ok_or_else(invalid)?;
    let number = i32::try_from(number).map_err(|_| invalid())?;
    let (pairs, rest) = words.as_chunks::<2>();
    let identities: Option<Vec<_>> = pairs.iter().map(|[pid, start_time]| identity(pid, start_time)).collect();
    let identities = identities.filter(|all| rest.is_empty() && !all.is_empty()).ok_or_else(invalid)?;
    let results = identities.into_iter().map(|(pid, start_time)| unless_gone(send_exactly(pid, start_time, number)));
    results.collect::<Vec<_>>().into_iter().collect()
}

fn unless_gone(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) || error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

fn identity(pid: &str, start_time: &str) -> Option<(Pid, u64)> {
    let pid = i32::try_from(digits(pid)?).ok().filter(|&pid| pid >= 2).and_then(Pid::from_raw)?;
    Some((pid, digits(start_time)?))
}

/// Digits only: no sign, so neither a group nor "everybody" can be meant.
fn digits(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}
