//! By `waitpid`: `waitid` of macOS does not say which signal it was.

use std::io;

use rustix::process::{Pid, WaitOptions, WaitStatus};

use super::Exit;

pub(super) fn reap(pid: Pid) -> io::Result<Option<Exit>> {
    wait(pid, WaitOptions::NOHANG)
}

pub(super) fn reap_blocking(pid: Pid) -> io::Result<Option<Exit>> {
    wait(pid, WaitOptions::empty())
}

fn wait(pid: Pid, options: WaitOptions) -> io::Result<Option<Exit>> {
    loop {
        match rustix::process::waitpid(Some(pid), options) {
            Err(rustix::io::Errno::INTR) => {}
            result => return Ok(result?.and_then(|(_, status)| from_status(status))),
        }
    }
}

fn from_status(status: WaitStatus) -> Option<Exit> {
    if let Some(code) = status.exit_status() {
        return Some(Exit::Code(code));
    }
    let core = libc::WCOREDUMP(status.as_raw());
    status.terminating_signal().map(|number| Exit::Signal { number, core })
}
