//! Members of other users, and a supervisor that is not root. Needs root itself and an account `user`.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod host;

use std::os::unix::fs::chown;
use std::time::Duration;

use host::{Host, Line, processes_with, scratch, wait_for};
use protocol::control::{Exit, FromSupervisor, SignalFailure, ToSupervisor};
use protocol::handshake::Settings;

const AS_USER: [&str; 5] = ["setpriv", "--reuid=user", "--regid=user", "--init-groups", "--"];

fn as_user(name: &str) -> Host {
    let root = scratch(name);
    let uid = process::account::parse(&std::fs::read("/etc/passwd").unwrap()).find(|account| account.name == b"user");
    let uid = uid.unwrap().uid;
    chown(&root, Some(uid), Some(uid)).unwrap();
    let mut host = Host::session(&root, Settings::default(), true);
    host.connect(Line::open_with(&AS_USER, &root));
    host
}

/// A python that makes whoever runs it root, as sudo does, and what its `PYTHONHOME` must be.
fn suid_python(host: &Host) -> (String, String) {
    let path = host.root.with_extension("suid-python");
    let python = std::process::Command::new("/usr/bin/env")
        .args(["python3", "-c", "import sys; print(sys.executable)"])
        .output()
        .unwrap();
    let python = String::from_utf8(python.stdout).unwrap();
    std::fs::copy(python.trim(), &path).unwrap();
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o4755)).unwrap();
    let home = std::path::Path::new(python.trim()).ancestors().nth(2).unwrap().to_str().unwrap().to_owned();
    (path.to_str().unwrap().to_owned(), home)
}

/// Only the real user decides whether a signal may be sent, so this changes it.
fn become_root(and_then: &str) -> String {
    format!("import os,sys; os.setresuid(0,0,0); {and_then}")
}

#[test]
fn a_supervisor_of_an_ordinary_user_does_all_of_it() {
    let mut host = as_user("plain");
    let id = host.run(&["sh", "-c", "id -un; echo $HOME; cat /proc/self/oom_score_adj; sleep 0.1 & exit 3"]);
    let seen = host.finish(id);
    let own = std::fs::read_to_string("/proc/self/oom_score_adj").unwrap();
    assert_eq!((seen.exit, seen.text()), (Some(Exit::Code(3)), format!("user\n/home/user\n{own}")));
    let id = host.run(&["bash", "-c", "set -m; sleep 6201 & sleep 6201"]);
    host.started(id);
    host.terminate(id);
    host.finish(id);
    assert!(processes_with("sleep 6201").is_empty());
    host.shut_down();
}

#[test]
fn c30_a_member_of_another_user_is_named_and_can_be_ended_by_root() {
    let mut host = as_user("other");
    let (program, home) = suid_python(&host);
    let script = become_root("os.execv('/bin/sleep',['sleep','6202'])");
    let id = host.run_with(&["bash", "-c", "\"$0\" -c \"$1\" & wait", &program, &script], |start| {
        start.grace_ms = 200;
        start.env = vec![(b"PYTHONHOME".to_vec().into(), Some(home.into_bytes().into()))];
    });
    host.until("root's process", |_| !processes_with("sleep 6202").is_empty());
    host.terminate(id);
    host.until("the survivor", |host| host.commands[&id].survivor.is_some());
    let survivor = host.commands[&id].survivor.clone().unwrap();
    assert_eq!((survivor.uid, survivor.errno), (0, libc::EPERM));
    assert_eq!(processes_with("sleep 6202"), [survivor.pid].into());
    // What a host does that may start something as root; first with a wrong start time.
    let kill = |start_time: u64| {
        let binary = host::binary();
        let words = ["kill".to_owned(), survivor.pid.to_string(), start_time.to_string()];
        assert!(std::process::Command::new(binary).args(words).status().unwrap().success());
    };
    kill(survivor.start_time + 1);
    host.pump_for(Duration::from_millis(100));
    assert!(!processes_with("sleep 6202").is_empty());
    kill(survivor.start_time);
    wait_for("its end", || processes_with("sleep 6202").is_empty());
    assert!(host.finish(id).gone);
    std::fs::remove_file(&program).unwrap();
}

#[test]
fn c53_a_job_of_another_user_is_interrupted_and_for_other_signals_named() {
    let mut host = as_user("job");
    let (program, home) = suid_python(&host);
    let home = format!("PYTHONHOME={home}");
    let script = become_root("os.execv('/bin/sleep',['sleep','6205'])");
    let ended = |signal: i32| Some(Exit::Signal { number: u8::try_from(signal).unwrap(), core: false });
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let id = host.run_in_terminal(&["env", &home, &program, "-c", &script]);
        let pid = host.started(id);
        host.until("root's process", |_| !processes_with("sleep 6205").is_empty());
        host.send(id, &ToSupervisor::SignalForeground { request: 1, signal: u8::try_from(signal).unwrap() });
        host.until("the answer", |host| !host.commands[&id].answers.is_empty());
        let FromSupervisor::ForegroundSignalled { result, .. } = host.commands[&id].answers[0].clone() else {
            panic!()
        };
        if signal == libc::SIGINT {
            assert_eq!(result, Ok(pid));
        } else {
            let Err(SignalFailure::Denied { group, reached: false, signal: 15, members }) = result else {
                panic!("{result:?}")
            };
            assert_eq!((group, members.len(), members[0].0), (pid, 1, pid));
            // What a host does that may start something as root; first with a wrong start time.
            for start_time in [members[0].1 + 1, members[0].1] {
                assert!(!processes_with("sleep 6205").is_empty());
                let words = ["signal".to_owned(), "15".to_owned(), pid.to_string(), start_time.to_string()];
                assert!(std::process::Command::new(host::binary()).args(words).status().unwrap().success());
                host.pump_for(Duration::from_millis(100));
            }
        }
        assert_eq!(host.finish(id).exit, ended(signal));
    }
    std::fs::remove_file(&program).unwrap();
}

#[test]
fn the_signal_command_refuses_what_is_no_signal_or_no_process() {
    for words in
        [&["15"][..], &["0", "99", "1"], &["65", "99", "1"], &["-9", "99", "1"], &["15", "1", "1"], &["15", "99"]]
    {
        let output = std::process::Command::new(host::binary()).arg("signal").args(words).output().unwrap();
        assert!(!output.status.success(), "{words:?}");
    }
}

#[test]
fn c35_a_program_that_kills_everything_of_its_user_ends_as_killed_and_the_next_join_works() {
    if !host::in_own_pid_namespace(
        "c35_a_program_that_kills_everything_of_its_user_ends_as_killed_and_the_next_join_works",
    ) {
        return;
    }
    let mut host = as_user("everything");
    let root = host.root.clone();
    let other = host.run(&["sleep", "6203"]);
    host.started(other);
    let killer = host.run(&["bash", "-c", "trap '' TERM; kill -9 -1; sleep 6203"]);
    host.until("the joiner's end", |host| host.line.is_none());
    wait_for("the end of all", || processes_with("sleep 6203").is_empty());
    assert!(host.commands[&killer].exit.is_none());
    let mut next = Host::session(&root, Settings::default(), true);
    next.connect(Line::open_with(&AS_USER, &root));
    assert_eq!(next.output(&["echo", "hi"]).1, "hi\n");
    next.shut_down();
}

#[test]
fn c35_sigterm_to_everything_of_a_user_does_not_reach_the_supervisor() {
    if !host::in_own_pid_namespace("c35_sigterm_to_everything_of_a_user_does_not_reach_the_supervisor") {
        return;
    }
    let mut host = as_user("terms");
    host.until("prepared processes", |host| !host.prepared.is_empty());
    let id = host.run(&["bash", "-c", "trap '' TERM; kill -TERM -1; echo still here"]);
    assert_eq!(host.finish(id).text(), "still here\n");
    host.pump_for(Duration::from_millis(100));
    assert!(host.line.is_some(), "nor the joiner");
    host.shut_down();
}

#[test]
fn the_kill_command_refuses_what_is_no_process_id() {
    for words in [
        ["", "1"],
        ["0", "1"],
        ["1", "1"],
        ["-5", "1"],
        ["1e3", "1"],
        ["12 34", "1"],
        ["99999999999999999999", "1"],
        ["2", ""],
    ] {
        let binary = host::binary();
        let output = std::process::Command::new(binary).arg("kill").args(words).output().unwrap();
        assert!(!output.status.success(), "{words:?}");
    }
}

#[test]
fn c35_an_ordinary_user_s_guardian_ends_everything_when_its_worker_is_killed() {
    let mut host = as_user("worker");
    let root = host.root.clone();
    let id = host.run(&["bash", "-c", "trap '' TERM; setsid sleep 6204 & sleep 6204; sleep 6204"]);
    host.started(id);
    host.until("its children", |_| processes_with("sleep 6204").len() >= 2);
    let (_, worker) = host::resident(&host);
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(worker.cast_signed()).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    host.until("the joiner's end", |host| host.line.is_none());
    wait_for("the end of all it ran", || processes_with("sleep 6204").is_empty());
    wait_for("the removal of its state", || !root.exists());
}

#[test]
fn c52_an_ordinary_user_s_supervisor_sees_who_waits_for_input() {
    let mut host = as_user("waits");
    let id = host.run_in_terminal(&["sh", "-c", "read line; echo got $line; sleep 60"]);
    let pid = host.started(id);
    let mut asked = 0;
    let mut foreground = |host: &mut Host| {
        asked += 1;
        let request = asked;
        host.send(id, &ToSupervisor::InspectForeground { request });
        host.until("the answer", |host| host.commands[&id].answers.len() == asked as usize);
        host.commands[&id].answers.last().cloned()
    };
    let answer = |request, waits| Some(FromSupervisor::Foreground { request, group: Some((pid, waits)) });
    let mut count = 0;
    let mut expect = |host: &mut Host, waits: bool| loop {
        count += 1;
        assert!(count < 2000, "never {waits}");
        if foreground(host) == answer(count, waits) {
            break;
        }
    };
    expect(&mut host, true);
    host.write(id, b"x\n");
    host.until_text(id, "got x");
    host.pump_for(Duration::from_millis(50));
    host.send(id, &ToSupervisor::Terminate);
    host.finish(id);
    host.shut_down();
}
