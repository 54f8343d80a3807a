//! By a question that the kernel answers in passing.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::OnceLock;

use rustix::process::Pid;

use crate::stdio;

/// More than the kernel ever gives out (`PID_MAX_LIMIT` is 2²²).
const NOBODYS: i32 = 1 << 24;

pub(super) fn is_taken(number: Pid) -> bool {
    refused(number.as_raw_pid()) != Some(true)
}

/// Whether a free number is told from a taken one: before Linux 4.13 none was refused.
pub(super) fn can_be_learned() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| refused(NOBODYS) == Some(true))
}

/// Whether the kernel says that `number` is nobody's; `None` when it can't be asked.
fn refused(number: i32) -> Option<bool> {
    static ANY: OnceLock<Option<OwnedFd>> = OnceLock::new();
    let any = ANY.get_or_init(|| stdio::null().ok()).as_ref()?;
    // SAFETY: fcntl with numbers on an open descriptor. The owner of a file that never signals anybody is of no consequence.
    let set = unsafe { libc::fcntl(any.as_raw_fd(), libc::F_SETOWN, -number) };
    Some(set != 0 && std::io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH))
}
