//! Tests of "does it wait for input".

use super::*;
use crate::waiting::input_waiting;

impl Session {
    fn is_waiting(&self) -> bool {
        let group = self.terminal.foreground();
        group.is_some_and(|group| input_waiting(self.program.pid, group, self.terminal.device()))
    }

    fn expect_waiting(&self, what: &str) {
        wait_for(what, || self.is_waiting());
    }
}

#[test]
fn c52_a_blocking_read_waits_and_sleeping_does_not() {
    let session = Session::start(&["/bin/sh", "-c", "read x; echo got; sleep 60"]);
    session.expect_waiting("a waiting read");
    session.terminal.write(b"x\n").unwrap();
    session.read_until("got");
    wait_for("sleep", || !session.is_waiting());
}

#[test]
fn c52_a_read_of_dev_tty_waits() {
    Session::start(&["/bin/sh", "-c", "exec cat </dev/tty"]).expect_waiting("a read of /dev/tty");
}

#[test]
fn c52_a_read_of_something_else_does_not_wait() {
    let session = Session::start(&["/bin/sh", "-c", "echo up; sleep 60 | cat >/dev/null"]);
    session.read_until("up");
    for _ in 0..20 {
        assert!(!session.is_waiting());
    }
}

#[test]
fn c52_poll_select_and_epoll_wait_for_input() {
    let calls = [
        "p=select.poll(); p.register(0,select.POLLIN); p.poll()",
        "p=select.poll(); p.register(0,select.POLLIN); p.poll(60000)",
        "select.select([0],[],[])",
        "select.select([0],[],[],60)",
        "p=select.epoll(); p.register(0,select.EPOLLIN); p.poll()",
        "e=select.epoll(); e.register(0,1); p=select.poll(); p.register(e,select.POLLIN); p.poll()",
        "e=select.epoll(); e.register(0,1); select.select([e],[],[])",
        "e=select.epoll(); e.register(0,1); f=select.epoll(); f.register(e,1); select.select([f],[],[])",
        // The descriptor that it was registered by is closed, the terminal is still watched.
        "n=os.dup(0); p=select.epoll(); p.register(n,1); os.close(n); p.poll()",
        "threading.Thread(target=lambda: os.read(0,1)).start()",
    ];
    for call in calls {
        let session =
            Session::start(&["/usr/bin/env", "python3", "-c", &format!("import os,select,threading,time\n{call}")]);
        session.expect_waiting(call);
    }
}

#[test]
fn c52_poll_for_output_or_for_another_file_does_not_wait_for_input() {
    let calls = [
        "r,w=os.pipe(); p=select.poll(); p.register(r,select.POLLIN); print('up',flush=True); p.poll()",
        "r,w=os.pipe(); print('up',flush=True); select.select([r],[],[])",
        "r,w=os.pipe(); p=select.epoll(); p.register(r,select.EPOLLIN); print('up',flush=True); p.poll()",
        "p=select.epoll(); p.register(0,0); print('up',flush=True); p.poll()",
        "e=select.epoll(); e.register(0,0); print('up',flush=True); select.select([e],[],[])",
        // What was registered is a pipe; its number is the terminal's by now.
        "r,w=os.pipe(); n=os.dup(r); p=select.epoll(); p.register(n,1); os.dup2(0,n); print('up',flush=True); p.poll()",
    ];
    for call in calls {
        let session = Session::start(&["/usr/bin/env", "python3", "-c", &format!("import os,select\n{call}")]);
        session.read_until("up");
        wait_for("its sleep", || table::stat(session.program.pid).unwrap().state == b'S');
        assert!(!session.is_waiting(), "{call}");
    }
}

#[test]
fn c52_a_stopped_reader_does_not_wait() {
    let session = Session::start(&["/bin/cat"]);
    session.expect_waiting("cat");
    rustix::process::kill_process(session.program.pid, rustix::process::Signal::STOP).unwrap();
    wait_for("the stop", || table::stat(session.program.pid).unwrap().state == b'T');
    assert!(!session.is_waiting());
}

/// Stops the program and lets it go on. What it slept in may go on as another system call.
fn stop_and_continue(session: &Session) {
    use rustix::process::{Signal, kill_process};
    kill_process(session.program.pid, Signal::STOP).unwrap();
    wait_for("the stop", || table::stat(session.program.pid).unwrap().state == b'T');
    kill_process(session.program.pid, Signal::CONT).unwrap();
    wait_for("its sleep", || table::stat(session.program.pid).unwrap().state == b'S');
}

#[test]
fn c52_a_poll_that_was_stopped_waits_again_when_it_goes_on() {
    for call in ["p.poll()", "p.poll(60000)"] {
        let script = format!("import select\np=select.poll(); p.register(0,select.POLLIN); {call}");
        let session = Session::start(&["/usr/bin/env", "python3", "-c", &script]);
        session.expect_waiting(call);
        stop_and_continue(&session);
        session.expect_waiting(call);
    }
}

#[test]
fn c52_what_else_goes_on_after_a_stop_does_not_wait_whatever_its_arguments_look_like() {
    // The time to sleep is laid out as a poll of descriptor 0.
    let script = format!(
        "import ctypes,struct\n\
         time=ctypes.create_string_buffer(struct.pack('ihhq',0,1,0,0)+bytes(65536))\n\
         left=ctypes.create_string_buffer(16)\n\
         ctypes.CDLL(None).syscall({},time,left)",
        libc::SYS_nanosleep
    );
    let session = Session::start(&["/usr/bin/env", "python3", "-c", &script]);
    let is_in = |call: i64| {
        let text = std::fs::read_to_string(format!("/proc/{}/syscall", session.program.pid.as_raw_pid())).unwrap();
        text.starts_with(&format!("{call} "))
    };
    wait_for("its sleep", || is_in(libc::SYS_nanosleep));
    stop_and_continue(&session);
    wait_for("its sleep as another call", || is_in(libc::SYS_restart_syscall));
    assert!(!session.is_waiting());
}

/// A program in front that runs `front` with one end of a unix socket, `s`, and a child outside of its session that runs `outside`.
/// It says `up` when the child is about to do that.
fn relay(front: &str, outside: &str) -> Session {
    let script = format!(
        "import os,select,socket,time\n\
         s,t=socket.socketpair()\n\
         def epoll(n):\n p=select.epoll(); p.register(n,select.EPOLLIN); p.poll()\n\
         if os.fork()==0:\n os.setsid(); s.close(); os.write(1,b'up'); {outside}; os._exit(0)\n\
         t.close(); {front}"
    );
    Session::start(&["/usr/bin/env", "python3", "-c", &script])
}

#[test]
fn c52_a_client_whose_server_reads_the_terminal_waits() {
    let fronts = [
        "s.recv(1)",
        "s.recvmsg(1)",
        "os.read(s.fileno(),1)",
        "select.select([s],[],[])",
        "p=select.poll(); p.register(s,select.POLLIN); p.poll()",
        "epoll(s)",
    ];
    for front in fronts {
        relay(front, "epoll(0)").expect_waiting(front);
    }
    for outside in ["os.read(0,1)", "select.select([0],[],[])", "epoll(os.open(os.ttyname(0),os.O_RDWR|os.O_NOCTTY))"] {
        relay("s.recv(1)", outside).expect_waiting(outside);
    }
}

#[test]
fn c52_who_sleeps_on_a_socket_does_not_wait_unless_somebody_outside_reads_the_terminal_for_it() {
    let cases = [
        // The peer has the terminal, and waits for something else.
        ("s.recv(1)", "epoll(t)"),
        ("s.recv(1)", "time.sleep(60)"),
        ("s.recv(1)", "p=select.poll(); p.register(0,0); p.poll()"),
        ("s.recv(1)", "a,b=os.openpty(); os.read(b,1)"),
        // Somebody reads the terminal, and nobody in front waits for him.
        ("time.sleep(60)", "epoll(0)"),
        ("r,w=os.pipe(); os.read(r,1)", "epoll(0)"),
        ("l=socket.create_server(('127.0.0.1',0)); c=socket.create_connection(l.getsockname()); c.recv(1)", "epoll(0)"),
        // Who polls the terminal behind those in front gets nothing of it.
        ("s.recv(1)", "epoll(t)\nelif os.fork()==0:\n os.setpgid(0,0); epoll(0)"),
    ];
    for (front, outside) in cases {
        let session = relay(front, outside);
        session.read_until("up");
        let sleeps = |stat: &table::Stat| stat.state == b'S';
        wait_for("the sleep of all", || {
            let family = table::snapshot().unwrap().processes;
            let family: Vec<_> = family.iter().filter(|stat| stat.parent == session.program.pid.as_raw_pid()).collect();
            !family.is_empty()
                && family.iter().all(|stat| sleeps(stat))
                && sleeps(&table::stat(session.program.pid).unwrap())
        });
        for _ in 0..5 {
            assert!(!session.is_waiting(), "{front} with {outside}");
        }
    }
}
