//! By a question that the kernel answers in passing.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::OnceLock;

use rustix::process::Pid;

use crate::stdio;

pub(super) fn is_taken(number: Pid) -> bool {
    static ANY: OnceLock<Option<OwnedFd>> = OnceLock::new();
    let Some(any) = ANY.get_or_init(|| stdio::null().ok()) else { return true };
    // SAFETY: fcntl with numbers on an open descriptor. The owner of a file that never signals anybody is of no consequence;
    // the kernel refuses one that does not exist (since 4.13; before, it is never refused, which is "could not be learned").
    let set = unsafe { libc::fcntl(any.as_raw_fd(), libc::F_SETOWN, -number.as_raw_pid()) };
    set == 0 || std::io::Error::last_os_error().raw_os_error() != Some(libc::ESRCH)
}
