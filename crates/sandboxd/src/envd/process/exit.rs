//! How a process ended, in the daemon's words.

use envd_api::process::process_event::EndEvent;
use rustix::process::WaitIdStatus;

/// The end event for a wait status: an exit keeps its code; a signal is code -1 with its name as
/// text, there is no number of it.
pub fn end_event(status: &WaitIdStatus) -> EndEvent {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => exited(code),
        (None, Some(signal)) => signalled(signal, status.dumped()),
        // waitid was asked for ended processes only, which are either of the above.
        (None, None) => failed("process state unknown".into()),
    }
}

fn exited(code: i32) -> EndEvent {
    let status = format!("exit status {code}");
    let error = (code != 0).then(|| status.clone());
    EndEvent { exit_code: code, exited: true, status, error }
}

fn signalled(signal: i32, dumped: bool) -> EndEvent {
    let core = if dumped { " (core dumped)" } else { "" };
    let status = format!("signal: {}{core}", signal_name(signal));
    EndEvent { exit_code: -1, exited: false, error: Some(status.clone()), status }
}

/// The end event of a process whose status could not be had.
pub fn failed(error: String) -> EndEvent {
    EndEvent { exit_code: -1, exited: false, status: "wait error".into(), error: Some(error) }
}

/// The names that the daemon's runtime gives to signals.
fn signal_name(signal: i32) -> String {
    const NAMES: [&str; 31] = [
        "hangup",
        "interrupt",
        "quit",
        "illegal instruction",
        "trace/breakpoint trap",
        "aborted",
        "bus error",
        "floating point exception",
        "killed",
        "user defined signal 1",
        "segmentation fault",
        "user defined signal 2",
        "broken pipe",
        "alarm clock",
        "terminated",
        "stack fault",
        "child exited",
        "continued",
        "stopped (signal)",
        "stopped",
        "stopped (tty input)",
        "stopped (tty output)",
        "urgent I/O condition",
        "CPU time limit exceeded",
        "file size limit exceeded",
        "virtual timer expired",
        "profiling timer expired",
        "window changed",
        "I/O possible",
        "power failure",
        "bad system call",
    ];
    usize::try_from(signal - 1)
        .ok()
        .and_then(|index| NAMES.get(index))
        .map_or_else(|| format!("signal {signal}"), |name| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use rustix::process::{WaitId, WaitIdOptions, pidfd_open, waitid};

    use super::*;

    #[allow(clippy::zombie_processes, reason = "it is waited for through its pidfd")]
    fn end_of(script: &str) -> EndEvent {
        let child = Command::new("/bin/sh").args(["-c", script]).spawn().expect("sh");
        let pid = rustix::process::Pid::from_child(&child);
        let fd = pidfd_open(pid, rustix::process::PidfdFlags::empty()).expect("pidfd");
        let status = waitid(WaitId::PidFd(std::os::fd::AsFd::as_fd(&fd)), WaitIdOptions::EXITED).expect("waitid");
        end_event(&status.expect("status"))
    }

    #[test]
    fn an_exit_keeps_its_code_and_only_failure_is_an_error() {
        let zero = end_of("exit 0");
        assert_eq!((zero.exit_code, zero.exited, zero.status.as_str(), zero.error), (0, true, "exit status 0", None));
        for code in [1, 3, 126, 127, 255] {
            let end = end_of(&format!("exit {code}"));
            assert_eq!((end.exit_code, end.exited), (code, true));
            assert_eq!(end.error.as_deref(), Some(format!("exit status {code}").as_str()));
        }
    }

    #[test]
    fn a_signal_is_minus_one_and_its_name() {
        for (signal, name) in [("KILL", "signal: killed"), ("TERM", "signal: terminated"), ("HUP", "signal: hangup")] {
            let end = end_of(&format!("kill -{signal} $$"));
            assert_eq!((end.exit_code, end.exited), (-1, false), "{signal}");
            assert_eq!(end.status, name);
            assert_eq!(end.error.as_deref(), Some(name));
        }
    }

    #[test]
    fn every_signal_has_a_text_and_a_core_dump_is_noted() {
        assert_eq!(signal_name(31), "bad system call");
        assert_eq!(signal_name(64), "signal 64");
        assert_eq!(signalled(11, true).status, "signal: segmentation fault (core dumped)");
    }
}
