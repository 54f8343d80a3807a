//! Termination and quiescence.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod host;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use host::{Host, lives, processes_with};
use protocol::control::{Exit, FromSupervisor, ToSupervisor};
use rustix::process::{Pid, Signal, kill_process};

const TERM: Exit = Exit::Signal { number: 15, core: false };
const KILL: Exit = Exit::Signal { number: 9, core: false };

#[test]
fn c30_a_program_that_minds_sigterm_goes_at_once() {
    let mut host = Host::new("term");
    let id = host.run(&["sleep", "60"]);
    host.started(id);
    let asked = Instant::now();
    host.terminate(id);
    assert_eq!(host.finish(id).exit, Some(TERM));
    assert!(asked.elapsed() < Duration::from_millis(1500));
}

#[test]
fn c30_a_program_that_ignores_sigterm_is_killed_after_the_grace() {
    let mut host = Host::new("kill");
    let script = "trap '' TERM; echo ready; while :; do sleep 1; done";
    let id = host.run_with(&["bash", "-c", script], |start| start.grace_ms = 500);
    host.until_text(id, "ready");
    let asked = Instant::now();
    host.terminate(id);
    assert_eq!(host.finish(id).exit, Some(KILL));
    let took = asked.elapsed();
    assert!((Duration::from_millis(450)..Duration::from_secs(3)).contains(&took), "{took:?}");
}

#[test]
fn c30_the_last_words_of_a_handler_arrive_and_its_exit_code_counts() {
    let mut host = Host::new("words");
    let id = host.run_piped(&["bash", "-c", "trap 'echo bye; exit 9' TERM; echo ready; while :; do sleep .05; done"]);
    host.until_text(id, "ready");
    host.terminate(id);
    let seen = host.finish(id);
    assert_eq!((seen.exit, seen.text()), (Some(Exit::Code(9)), "ready\nbye\n".to_owned()));
}

#[test]
fn c30_every_group_of_the_session_goes_stopped_ones_included() {
    let mut host = Host::new("groups");
    let script = "set -m; sleep 6001 & sleep 6001 & kill -STOP $!; timeout 60 sleep 6001 & echo ready; wait";
    let id = host.run(&["bash", "-c", script]);
    host.until_text(id, "ready");
    host.terminate(id);
    let started = Instant::now();
    host.finish(id);
    assert!(started.elapsed() < Duration::from_millis(1900), "TERM was enough");
    assert!(processes_with("sleep 6001").is_empty());
}

#[test]
fn c31_the_tree_is_gone_only_when_its_last_member_is() {
    let mut host = Host::new("tree");
    let id = host.run(&["bash", "-c", "sleep 0.6 >/dev/null 2>&1 & exit 3"]);
    host.until("the exit", |host| host.commands[&id].exit.is_some());
    host.pump_for(Duration::from_millis(200));
    assert!(!host.commands[&id].gone);
    assert_eq!(host.finish(id).exit, Some(Exit::Code(3)));
    assert!(host.commands[&id].exited_at.unwrap().elapsed() >= Duration::from_millis(500));
}

#[test]
fn c31_zombies_are_no_members_and_none_is_left() {
    let mut host = Host::new("zombies");
    // A stopped parent never waits for its child; only the child of a living parent stays a zombie.
    let script = "import os,sys,time\nif os.fork()==0: os._exit(0)\nos.setsid() if os.fork()==0 else os._exit(3)\ntime.sleep(60)";
    let id = host.run_with(&["/usr/bin/env", "python3", "-c", script], |start| start.grace_ms = 200);
    assert_eq!(host.finish(id).exit, Some(Exit::Code(3)));
    for _ in 0..100 {
        let id = host.run(&["sh", "-c", "sleep 0.01 & exit 3"]);
        assert_eq!(host.finish(id).exit, Some(Exit::Code(3)));
    }
    let (_, worker) = host::resident(&host);
    let zombies = || {
        let children = std::fs::read_to_string(format!("/proc/{worker}/task/{worker}/children")).unwrap();
        children.split_whitespace().filter(|pid| !lives(pid.parse().unwrap())).count()
    };
    host.until("no zombies", |_| zombies() == 0);
}

#[test]
fn c30_termination_before_the_start_is_known_leaves_nothing() {
    let mut host = Host::new("cancel");
    for _ in 0..20 {
        let id = host.run(&["sleep", "6002"]);
        host.terminate(id);
        host.finish(id);
    }
    assert!(processes_with("sleep 6002").is_empty());
}

#[test]
fn c30_terminating_many_at_once_ends_all() {
    let mut host = Host::new("many");
    let ids: Vec<u32> = (0..200).map(|_| host.run(&["bash", "-c", "sleep 6003 & wait"])).collect();
    for &id in &ids {
        host.started(id);
    }
    for &id in &ids {
        host.terminate(id);
    }
    let asked = Instant::now();
    for id in ids {
        host.finish(id);
    }
    assert!(asked.elapsed() < Duration::from_secs(8), "{:?}", asked.elapsed());
    assert!(processes_with("sleep 6003").is_empty());
}

#[test]
fn c34_daemons_live_until_the_service_ends() {
    let mut host = Host::new("daemons");
    let script = "setsid sh -c 'sleep 6004 & sleep 6004' >/dev/null 2>&1 & exit 0";
    let id = host.run(&["bash", "-c", script]);
    assert_eq!(host.finish(id).exit, Some(Exit::Code(0)));
    host.until("the daemons", |_| processes_with("sleep 6004").len() >= 2);
    let survivors = host.shut_down();
    assert_eq!(survivors, []);
    assert!(processes_with("sleep 6004").is_empty());
}

#[test]
fn c60_shutdown_ends_everything_that_runs_and_refuses_what_comes() {
    let mut host = Host::new("shutdown");
    let stubborn = "trap '' TERM; sleep 6005; sleep 6005";
    let id = host.run_with(&["bash", "-c", stubborn], |start| start.grace_ms = 300);
    host.started(id);
    // Its sleep runs once the trap is set.
    host.until("the trap", |_| !processes_with("sleep 6005").is_empty());
    host.send(0, &ToSupervisor::Shutdown);
    let late = host.run(&["true"]);
    host.until("the supervisor's end", |host| host.line.is_none());
    assert_eq!(host.commands[&id].exit, Some(KILL));
    assert!(host.commands[&late].failure.is_some());
    assert!(processes_with("sleep 6005").is_empty());
    let root = host.root.clone();
    host.until("the removal of its state", |_| !root.exists());
}

#[test]
fn c80_running_commands_are_listed() {
    let mut host = Host::new("list");
    let id = host.run(&["sleep", "60"]);
    let pid = host.started(id);
    host.send(0, &ToSupervisor::ListRunning);
    host.until("the list", |host| !host.about_supervisor.is_empty());
    let FromSupervisor::Running(running) = &host.about_supervisor[0] else { unreachable!() };
    assert_eq!((running.len(), running[0].command, running[0].pid), (1, id, pid));
    host.about_supervisor.clear();
    host.terminate(id);
    host.finish(id);
}

#[test]
fn c31_gone_is_never_said_while_a_member_lives() {
    let mut host = Host::new("early-gone");
    // Chains of orphans: each dies just after it has made the next.
    let script = "link() { if [ $1 -gt 0 ]; then ( link $(($1 - 1)) ) & fi; }; link 6; exit 0";
    let mut early = 0;
    for _ in 0..2 {
        let mut open: Vec<u32> = (0..150).map(|_| host.run(&["bash", "-c", script])).collect();
        host.until("all ends", |host| {
            open.retain(|id| {
                let seen = &host.commands[id];
                if seen.gone {
                    let leader = process::Pid::from_raw(seen.pid.unwrap().cast_signed()).unwrap();
                    early += process::session::members(leader).unwrap().len();
                }
                !seen.gone
            });
            open.is_empty()
        });
    }
    assert_eq!(early, 0);
}

#[test]
fn c31_a_member_that_is_its_leader_s_sibling_is_one() {
    let mut host = Host::new("sibling");
    // By CLONE_PARENT: not a child of the program but, as the program itself, of whoever started that.
    let script = "import ctypes, os, signal\n\
        clone = 56 if os.uname().machine == 'x86_64' else 220\n\
        if ctypes.CDLL(None).syscall(clone, 0x8000 | signal.SIGCHLD, 0, 0, 0, 0) == 0:\n\
        \tos.execvp('sleep', ['sleep', '6006'])";
    let id = host.run(&["python3", "-c", script]);
    host.until("the exit", |host| host.commands[&id].exit.is_some());
    host.pump_for(Duration::from_millis(100));
    assert!(!host.commands[&id].gone);
    assert_eq!(processes_with("sleep 6006").len(), 1);
    host.terminate(id);
    host.until("its end", |host| host.commands[&id].gone);
    assert!(processes_with("sleep 6006").is_empty());
}

#[test]
fn c11_prepared_processes_that_were_stopped_become_their_programs_all_the_same() {
    let mut host = Host::new("stopped");
    host.until("prepared processes", |host| host.prepared.len() >= 4);
    for &pid in &host.prepared {
        kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), Signal::STOP).unwrap();
    }
    for _ in 0..6 {
        let id = host.run(&["echo", "hi"]);
        let seen = host.finish(id);
        assert_eq!((seen.text().as_str(), seen.exit), ("hi\n", Some(Exit::Code(0))));
    }
    for _ in 0..4 {
        let id = host.run(&["sleep", "6005"]);
        host.terminate(id);
        host.finish(id);
    }
    assert!(processes_with("sleep 6005").is_empty());
}

#[test]
fn c30_a_start_that_is_stopped_again_and_again_is_cancelled_all_the_same() {
    let mut host = Host::new("held");
    host.until("prepared processes", |host| host.prepared.len() >= 4);
    let pid = Pid::from_raw(host.prepared[0].cast_signed()).unwrap();
    let (over, began) = (AtomicBool::new(false), Instant::now());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let patience = Duration::from_secs(20);
            while !over.load(Ordering::Relaxed) && began.elapsed() < patience {
                let _ = kill_process(pid, Signal::STOP);
            }
        });
        let id = host.run_with(&["sleep", "6006"], |start| start.grace_ms = 200);
        host.pump_for(Duration::from_millis(300));
        host.terminate(id);
        let asked = Instant::now();
        host.finish(id);
        over.store(true, Ordering::Relaxed);
        assert!(asked.elapsed() < Duration::from_secs(8), "{:?}", asked.elapsed());
    });
    assert!(processes_with("sleep 6006").is_empty());
}
