//! Ending whatever is left, for a guardian whose worker is gone.

use std::time::{Duration, Instant};

use process::{exit, orphans, pidfd::PidFd};

/// How long members that refuse SIGKILL are waited for.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often their end is looked for when no signal tells.
const PAUSE: Duration = Duration::from_millis(50);

/// Blocks every signal in this thread; SIGKILL and SIGSTOP cannot be.
pub fn block_signals() {
    // SAFETY: sigfillset initialises the set.
    unsafe {
        let mut all = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut());
    }
}

/// Kills all children, and those that become children by that, until there are none. Gives up on members of other users.
pub fn end_all_children() {
    let started = Instant::now();
    loop {
        let children = orphans::children().unwrap_or_default();
        if children.is_empty() {
            return;
        }
        for pid in children {
            // An unreaped child's number is its own.
            if let Ok(pidfd) = PidFd::open(pid) {
                let _ = pidfd.send(libc::SIGKILL);
            }
            let _ = exit::reap(pid);
        }
        if started.elapsed() > PATIENCE {
            return;
        }
        wait_for_child_signal(PAUSE);
    }
}

/// Waits until a child has ended, or for `limit`. SIGCHLD must be blocked.
fn wait_for_child_signal(limit: Duration) {
    let timeout = libc::timespec { tv_sec: 0, tv_nsec: libc::c_long::from(limit.subsec_nanos().cast_signed()) };
    // SAFETY: the set is initialised; no information about the signal is asked for.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        libc::sigtimedwait(&raw const set, std::ptr::null_mut(), &raw const timeout);
    }
}
