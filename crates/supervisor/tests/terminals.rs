//! Terminals.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod host;

use std::time::{Duration, Instant};

use host::Host;
use protocol::control::{EndReason, Exit, FromSupervisor, SignalFailure, ToSupervisor};
use rustix::process::{Pid, Signal, kill_process};

fn foreground(host: &mut Host, id: u32) -> Option<(u32, bool)> {
    host.commands.get_mut(&id).unwrap().answers.clear();
    host.send(id, &ToSupervisor::InspectForeground { request: 7 });
    host.until("the answer", |host| !host.commands[&id].answers.is_empty());
    match host.commands[&id].answers[0] {
        FromSupervisor::Foreground { request: 7, group } => group,
        ref other => panic!("{other:?}"),
    }
}

fn signal(host: &mut Host, id: u32, signal: i32) -> Result<u32, SignalFailure> {
    host.commands.get_mut(&id).unwrap().answers.clear();
    let signal = u8::try_from(signal).unwrap();
    host.send(id, &ToSupervisor::SignalForeground { request: 8, signal });
    host.until("the answer", |host| !host.commands[&id].answers.is_empty());
    match &host.commands[&id].answers[0] {
        FromSupervisor::ForegroundSignalled { request: 8, result } => result.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn c50_the_size_is_right_from_the_start_and_the_first_byte_is_the_program_s() {
    let mut host = Host::new("size");
    for _ in 0..50 {
        let id = host.run_in_terminal(&["stty", "size"]);
        assert_eq!(host.finish(id).text(), "40 120\r\n");
    }
}

#[test]
fn c51_all_output_arrives_before_the_end() {
    let mut host = Host::new("tail");
    let text = "hello".repeat(4096);
    for _ in 0..50 {
        let id = host.run_in_terminal(&["/bin/echo", "-n", &text]);
        let seen = host.finish(id);
        assert_eq!(seen.text().len(), 20480);
        assert_eq!(seen.ends[0].as_ref().unwrap().reason, EndReason::Eof);
    }
    let id = host.run_in_terminal(&["seq", "1", "50000"]);
    let expected: String = (1..=50000).map(|number| format!("{number}\r\n")).collect();
    assert!(host.finish(id).text() == expected);
}

#[test]
fn c51_output_ends_with_the_top_process_whoever_holds_the_terminal() {
    let mut host = Host::new("held");
    let id = host.run_in_terminal(&["bash", "-c", "trap '' HUP; (trap '' HUP; sleep 60) & echo bye; exit 3"]);
    let began = Instant::now();
    host.until("the end", |host| host.commands[&id].ends[0].is_some() && host.commands[&id].exit.is_some());
    assert!(began.elapsed() < Duration::from_secs(5));
    assert_eq!((host.commands[&id].text(), host.commands[&id].exit), ("bye\r\n".to_owned(), Some(Exit::Code(3))));
    host.terminate(id);
    host.finish(id);
}

#[test]
fn c51_what_is_typed_arrives_whole_and_control_d_is_the_end() {
    let mut host = Host::new("typed");
    let id = host.run_in_terminal(&["sh", "-c", "stty raw -echo; echo ready; sleep 0.3; head -c 65536 | sha256sum"]);
    host.until_text(id, "ready");
    host.write(id, &[b'x'; 65536]);
    assert!(host.finish(id).text().contains("1f8745f0d2d1387ec1af2211a3cf417b2e9e885e853472649c1d979d0e9370e3"));
    let id = host.run_in_terminal(&["cat"]);
    host.write(id, b"line\n\x04");
    assert_eq!(host.finish(id).exit, Some(Exit::Code(0)));
}

#[test]
fn c52_a_shell_waits_for_input_and_a_busy_one_does_not() {
    let mut host = Host::new("waits");
    let id = host.run_in_terminal(&["bash", "--norc", "--noprofile"]);
    let pid = host.started(id);
    let deadline = Instant::now() + Duration::from_secs(20);
    while foreground(&mut host, id) != Some((pid, true)) {
        assert!(Instant::now() < deadline);
    }
    host.write(id, b"sleep 60\n");
    while !foreground(&mut host, id).is_some_and(|(group, waits)| group != pid && !waits) {
        assert!(Instant::now() < deadline);
    }
    host.terminate(id);
    host.finish(id);
    assert_eq!(foreground(&mut host, id), None);
}

/// A process that is stopped while this lives.
struct Stopped(Pid);

impl Stopped {
    fn new(pid: u32) -> Self {
        let pid = Pid::from_raw(pid.cast_signed()).unwrap();
        kill_process(pid, Signal::STOP).unwrap();
        Self(pid)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        kill_process(self.0, Signal::CONT).unwrap();
    }
}

/// Brings a program to speak and to wait again while the supervisor sees nothing of it, then asks whether it waits.
#[test]
fn c52_what_a_program_said_before_it_waited_comes_before_the_news_that_it_waits() {
    let mut host = Host::new("order");
    let script = "trap 'seq 1 500; : >said' USR1; stty -echo; cd $0; echo ready; while :; do read line; done";
    let id = host.run_in_terminal(&["bash", "-c", script, host.root.clone().to_str().unwrap()]);
    let pid = host.started(id);
    host.until_text(id, "ready\r\n");
    let (_, worker) = host::resident(&host);
    let expected: String = (1..=500).map(|number| format!("{number}\r\n")).collect();
    let said = host.root.join("said");
    for round in 1..=10 {
        host.until("a program that waits", |host| foreground(host, id) == Some((pid, true)));
        let stopped = Stopped::new(worker);
        kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), Signal::USR1).unwrap();
        host::wait_for("its words", || said.exists());
        std::fs::remove_file(&said).unwrap();
        host::wait_for("its next read", || is_reading(pid));
        host.commands.get_mut(&id).unwrap().answers.clear();
        host.send(id, &ToSupervisor::InspectForeground { request: 7 });
        host.pump(Duration::from_millis(1));
        drop(stopped);
        host.until("the answer", |host| !host.commands[&id].answers.is_empty());
        let seen = &host.commands[&id];
        assert_eq!(seen.answers[0], FromSupervisor::Foreground { request: 7, group: Some((pid, true)) });
        let shown = String::from_utf8_lossy(&seen.output[0][..seen.shown_before_answer]);
        assert!(shown == format!("ready\r\n{}", expected.repeat(round)), "round {round}: {} bytes", shown.len());
    }
    host.terminate(id);
    host.finish(id);
}

fn is_reading(pid: u32) -> bool {
    // System call 0 of x86-64, 63 of arm64.
    let call = std::fs::read_to_string(format!("/proc/{pid}/syscall")).unwrap();
    ["0 ", "63 "].iter().any(|read| call.starts_with(read))
}

/// As much as there is credit for comes first; the answer does not wait for the rest.
#[test]
fn c52_an_answer_does_not_wait_for_output_that_nobody_takes() {
    let mut host = Host::new("no-credit");
    let id = host.run_in_terminal(&["sh", "-c", "stty -echo; yes & read line"]);
    host.paused.insert(protocol::StreamId { command: id, channel: protocol::Channel::Stdout });
    let pid = host.started(id);
    host.until("a program that waits in front of a flood", |host| foreground(host, id) == Some((pid, true)));
    host.until("no more credit", |host| host.commands[&id].received[0] == 64 * 1024);
    assert_eq!(foreground(&mut host, id), Some((pid, true)));
    host.terminate(id);
    host.paused.clear();
    host.link.consume(protocol::StreamId { command: id, channel: protocol::Channel::Stdout }, 64 * 1024);
    host.finish(id);
}

#[test]
fn c53_signals_reach_the_group_in_front_and_never_kill_the_shell() {
    let mut host = Host::new("front");
    let id = host.run_in_terminal(&[
        "bash",
        "-c",
        "trap 'echo got it; exit 4' INT; echo ready; while :; do sleep 0.05; done",
    ]);
    let pid = host.started(id);
    host.until_text(id, "ready");
    assert_eq!(signal(&mut host, id, libc::SIGKILL), Err(SignalFailure::OwnShell));
    assert_eq!(signal(&mut host, id, libc::SIGINT), Ok(pid));
    let seen = host.finish(id);
    assert_eq!((seen.exit, seen.text().contains("got it")), (Some(Exit::Code(4)), true));
    assert_eq!(signal(&mut host, id, libc::SIGINT), Err(SignalFailure::NoGroup));
}

#[test]
fn c54_termination_ends_every_group_of_a_terminal() {
    let mut host = Host::new("end");
    let id = host.run_in_terminal(&["bash", "--norc", "--noprofile", "-i"]);
    host.write(id, b"(trap '' TERM HUP; sleep 6301) & sleep 6301 & disown; echo rea''dy\n");
    host.until_text(id, "ready");
    host.until("the jobs", |_| host::processes_with("sleep 6301").len() >= 2);
    host.terminate(id);
    host.finish(id);
    assert!(host::processes_with("sleep 6301").is_empty());
}

#[test]
fn c57_a_new_size_is_told_to_the_program() {
    let mut host = Host::new("resize");
    let id =
        host.run_in_terminal(&["bash", "-c", "trap 'stty size; exit' WINCH; echo ready; while :; do sleep 0.05; done"]);
    host.until_text(id, "ready");
    host.send(id, &ToSupervisor::Resize { rows: 50, cols: 100 });
    assert!(host.finish(id).text().ends_with("50 100\r\n"));
}

#[test]
fn c56_a_terminal_that_nobody_reads_stops_its_program_and_no_other() {
    let mut host = Host::new("unread");
    let id = host.run_in_terminal(&["yes"]);
    host.paused.insert(protocol::StreamId { command: id, channel: protocol::Channel::Stdout });
    host.started(id);
    host.pump_for(Duration::from_millis(300));
    assert!(host.commands[&id].received[0] <= 64 * 1024);
    let other = host.run_in_terminal(&["echo", "alive"]);
    assert_eq!(host.finish(other).text(), "alive\r\n");
    host.terminate(id);
    host.paused.clear();
    host.keep = false;
    let held = host.commands[&id].received[0];
    host.link.consume(protocol::StreamId { command: id, channel: protocol::Channel::Stdout }, held);
    host.finish(id);
}
