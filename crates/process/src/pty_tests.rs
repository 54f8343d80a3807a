//! Tests of terminals.

use super::*;
use crate::environment::Environment;
use crate::spawn::spawn;
use crate::table;
use crate::testing::{Fixture, image, wait_for};

struct Session {
    terminal: Terminal,
    program: Fixture,
}

impl Session {
    fn start(argv: &[&str]) -> Self {
        let (terminal, near) = Terminal::open(40, 120).unwrap();
        let mut environment = Environment::of_this_process();
        environment.set(b"TERM", b"xterm");
        let stdio = [near.as_fd(); 3];
        let started = spawn(image(argv, &environment, None), stdio, true, &crate::Settings::default()).unwrap();
        Self { terminal, program: Fixture { pid: started.pid, pidfd: started.pidfd } }
    }

    /// Reads until `wanted` is in the text, or the program has exited and nothing is left.
    fn read_until(&self, wanted: &str) -> String {
        let mut text = Vec::new();
        wait_for(wanted, || {
            let mut buffer = [0; 4096];
            let exited = !self.program.pidfd.is_alive();
            match self.terminal.read(&mut buffer) {
                Ok(0) => true,
                Ok(count) => {
                    text.extend_from_slice(&buffer[..count]);
                    String::from_utf8_lossy(&text).contains(wanted)
                }
                Err(error) => {
                    assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
                    exited
                }
            }
        });
        String::from_utf8(text).unwrap()
    }

    /// Whether the leader of the foreground group runs `name` already; before, it may still ignore signals.
    fn is_in_front(&self, name: &str) -> bool {
        let group = self.terminal.foreground();
        group.is_some_and(|group| table::stat(group).is_ok_and(|stat| stat.name == name.as_bytes()))
    }
}

#[test]
fn c50_the_size_is_there_from_the_first_read_and_changes() {
    let session =
        Session::start(&["/bin/sh", "-c", "trap 'stty size; exit' WINCH; stty size; while :; do sleep 0.05; done"]);
    assert_eq!(session.read_until("\n"), "40 120\r\n");
    session.terminal.resize(50, 100).unwrap();
    assert_eq!(session.read_until("\n"), "50 100\r\n");
}

#[test]
fn c50_the_program_leads_the_session_and_owns_the_terminal() {
    let script = "echo hello >/dev/tty; ps -o sid= -p $$ | tr -d ' '; echo $$; exit 3";
    let session = Session::start(&["/bin/sh", "-c", script]);
    let pid = session.program.pid.as_raw_pid();
    assert_eq!(session.read_until("no such text"), format!("hello\r\n{pid}\r\n{pid}\r\n"));
    assert_eq!(session.program.join(), crate::exit::Exit::Code(3));
}

#[test]
fn output_of_more_than_a_page_arrives_whole_before_the_end() {
    for _ in 0..20 {
        let session = Session::start(&["/bin/echo", "-n", &"hello".repeat(4096)]);
        assert_eq!(session.read_until("no such text").len(), 20480);
    }
}

#[test]
fn c51_a_program_that_closes_the_terminal_may_open_it_again() {
    let script = "echo before; exec <&- >&- 2>&-; sleep .2; exec </dev/tty >/dev/tty; echo after";
    let session = Session::start(&["/bin/bash", "-c", script]);
    assert_eq!(session.read_until("no such text"), "before\r\nafter\r\n");
}

#[test]
fn c53_a_signal_reaches_exactly_the_foreground_group() {
    let session = Session::start(&["/bin/bash", "--norc", "--noprofile", "-i"]);
    session.terminal.write(b"PS1=rea''dy; sleep 60; echo status=$?\n").unwrap();
    wait_for("the job in front", || session.is_in_front("sleep"));
    let group = session.terminal.foreground().unwrap();
    assert_eq!(session.terminal.signal_foreground(session.program.pid, libc::SIGINT).unwrap().group, group);
    // bash drops the rest of a line whose job was interrupted; the shell itself lives on.
    session.read_until("ready");
    session.terminal.write(b"sleep 60 || echo status=$?\n").unwrap();
    wait_for("the next job in front", || session.is_in_front("sleep") && session.terminal.foreground() != Some(group));
    session.terminal.signal_foreground(session.program.pid, libc::SIGKILL).unwrap();
    session.read_until("status=137");
    wait_for("the shell in front", || session.terminal.foreground() == Some(session.program.pid));
    let error = session.terminal.signal_foreground(session.program.pid, libc::SIGKILL).unwrap_err();
    assert!(matches!(error, ForegroundError::OwnShell));
}

#[cfg(target_os = "linux")]
#[test]
fn c53_a_group_of_another_user_is_interrupted_by_the_terminal_and_else_named() {
    if !crate::testing::in_own_pid_namespace(
        "pty::tests::c53_a_group_of_another_user_is_interrupted_by_the_terminal_and_else_named",
    ) {
        return;
    }
    // The group is root's; the one that signals is not.
    let session = Session::start(&["/bin/sh", "-c", "trap 'echo stopped' TSTP; echo up; while :; do sleep 0.05; done"]);
    session.read_until("up");
    let leader = session.program.pid;
    let signalled = |signal| {
        // SAFETY: changes the ids of this thread only (the raw call), back again below.
        unsafe { libc::syscall(libc::SYS_setresuid, 1001, 1001, 0) };
        let signalled = session.terminal.signal_foreground(leader, signal);
        // SAFETY: as above.
        unsafe { libc::syscall(libc::SYS_setresuid, 0, 0, 0) };
        signalled.unwrap()
    };
    for signal in [libc::SIGTERM, libc::SIGHUP] {
        let Signalled { group, reached, denied } = signalled(signal);
        assert_eq!((group, reached), (leader, false));
        assert!(denied.iter().any(|one| (one.pid, one.uid) == (leader.as_raw_pid(), 0)), "{denied:?}");
    }
    assert_eq!(signalled(libc::SIGTSTP), Signalled { group: leader, reached: true, denied: Vec::new() });
    session.read_until("stopped");
    assert_eq!(signalled(libc::SIGINT), Signalled { group: leader, reached: true, denied: Vec::new() });
    assert_eq!(session.program.join(), crate::exit::Exit::Signal { number: libc::SIGINT, core: false });
}

#[test]
fn c54_closing_our_end_hangs_the_session_up() {
    let session = Session::start(&["/bin/sh", "-c", "sleep 60"]);
    let Session { terminal, program } = session;
    drop(terminal);
    assert_eq!(program.join(), crate::exit::Exit::Signal { number: libc::SIGHUP, core: false });
}

#[cfg(target_os = "linux")]
#[path = "pty_waiting_tests.rs"]
mod waiting;

#[cfg(target_os = "linux")]
#[test]
fn c52_what_was_typed_has_come_when_it_is_asked_who_is_in_front() {
    let (terminal, near) = Terminal::open(24, 80).unwrap();
    let mut modes = rustix::termios::tcgetattr(&near).unwrap();
    modes.make_raw();
    rustix::termios::tcsetattr(&near, OptionalActions::Now, &modes).unwrap();
    for round in 0..2000 {
        assert_eq!(terminal.write(b"x").unwrap(), 1);
        let _ = terminal.foreground();
        let come = rustix::io::ioctl_fionread(&near).unwrap();
        assert_eq!(come, 1, "round {round}");
        let mut byte = [0; 1];
        assert_eq!(rustix::io::read(&near, &mut byte).unwrap(), 1);
    }
}
