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
