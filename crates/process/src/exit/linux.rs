//! By `waitid`, which also looks without reaping.

use std::io;

use rustix::process::{Pid, WaitId, WaitIdOptions, WaitIdStatus};

use super::Exit;

fn from_status(status: &WaitIdStatus) -> Option<Exit> {
    if let Some(code) = status.exit_status() {
        return Some(Exit::Code(code));
    }
    status.terminating_signal().map(|number| Exit::Signal { number, core: status.dumped() })
}

/// The end of child `pid` if it has ended; the child stays a zombie, so its number cannot be reused.
///
/// `ECHILD` when it is no child of ours or was reaped.
pub fn observe(pid: Pid) -> io::Result<Option<Exit>> {
    wait(pid, WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT)
}

pub(super) fn reap(pid: Pid) -> io::Result<Option<Exit>> {
    wait(pid, WaitIdOptions::EXITED | WaitIdOptions::NOHANG)
}

pub(super) fn reap_blocking(pid: Pid) -> io::Result<Option<Exit>> {
    wait(pid, WaitIdOptions::EXITED)
}

fn wait(pid: Pid, options: WaitIdOptions) -> io::Result<Option<Exit>> {
    loop {
        match rustix::process::waitid(WaitId::Pid(pid), options) {
            Err(rustix::io::Errno::INTR) => {}
            result => return Ok(result?.as_ref().and_then(from_status)),
        }
    }
}
