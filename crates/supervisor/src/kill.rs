//! `supervisor kill PID START_TIME`: for members of other users, started as root by a host that may.

use std::io;

use process::Pid;

/// Sends SIGKILL to process `pid` if it is the one that started at `start_time`; one that has gone is fine.
pub fn run(pid: &str, start_time: &str) -> io::Result<()> {
    let invalid = || io::Error::new(io::ErrorKind::InvalidInput, "kill wants a process id ≥ 2 and a start time");
    // Digits only: no sign, so neither a group nor "everybody" can be meant.
    let number =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<u64>().ok()).flatten();
    let pid = number(pid).and_then(|pid| i32::try_from(pid).ok()).filter(|&pid| pid >= 2).and_then(Pid::from_raw);
    let (Some(pid), Some(start_time)) = (pid, number(start_time)) else { return Err(invalid()) };
    match process::terminate::kill_exactly(pid, start_time) {
        Err(error) if matches!(error.raw_os_error(), Some(libc::ESRCH)) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}
