//! Connections, re-attachment, and the resident's own life and death.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod host;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use host::{Host, Line, lives, processes_with, resident, wait_for};
use protocol::control::{Exit, FromSupervisor, LostSession, Stdio, ToSupervisor};
use protocol::handshake::Settings;
use rustix::process::{Pid, Signal, kill_process};

fn kill(pid: u32) {
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), Signal::KILL).unwrap();
}

#[test]
fn c64_nothing_is_left_after_the_end() {
    let mut host = Host::new("nothing");
    host.output(&["true"]);
    let processes = processes_with(host.root.to_str().unwrap());
    assert!(processes.len() >= 3, "joiner, guardian, worker: {processes:?}");
    host.shut_down();
    let root = host.root.clone();
    wait_for("the removal of its folder", || !root.exists());
    wait_for("the end of all processes", || processes.iter().all(|&pid| !lives(pid)));
}

#[test]
fn a_cut_line_loses_nothing_and_repeats_nothing() {
    let mut host = Host::new("cuts");
    let id = host.run_piped(&["seq", "1", "3000000"]);
    let expected: String = (1..=3_000_000).map(|number| format!("{number}\n")).collect();
    let mut cuts = 0;
    while !host.commands[&id].is_over() && cuts < 200 {
        host.pump_for(Duration::from_millis(15));
        host.cut();
        let root = host.root.clone();
        host.connect(Line::open(&root));
        cuts += 1;
    }
    let seen = host.finish(id);
    assert!(seen.output[0] == expected.as_bytes(), "{} of {} bytes", seen.output[0].len(), expected.len());
    assert!(cuts > 2, "{cuts} cuts");
}

#[test]
fn input_survives_cuts_as_well() {
    let mut host = Host::new("input-cuts");
    let id = host.run_piped(&["sh", "-c", "sleep 0.1; cat"]);
    let bytes: Vec<u8> = (0..1_000_000u32).map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes()[3]).collect();
    host.write(id, &bytes);
    host.end_input(id);
    for _ in 0..10 {
        host.pump_for(Duration::from_millis(15));
        host.cut();
        let root = host.root.clone();
        host.connect(Line::open(&root));
    }
    assert!(host.finish(id).output[0] == bytes);
}

#[test]
fn a_killed_joiner_is_a_cut_line() {
    let mut host = Host::new("joiner");
    let id = host.run(&["sh", "-c", "sleep 0.5; echo survived"]);
    host.started(id);
    host.line.as_mut().unwrap().joiner.kill().unwrap();
    host.cut();
    let root = host.root.clone();
    host.connect(Line::open(&root));
    assert_eq!(host.finish(id).text(), "survived\n");
}

#[test]
fn joiners_that_come_at_once_find_one_resident() {
    let mut host = Host::new("at-once");
    let root = host.root.clone();
    host.shut_down();
    let mut lines: Vec<Line> = (0..8).map(|_| Line::open(&root)).collect();
    let mut session = Host::session(&root, Settings::default(), true);
    session.connect(lines.pop().unwrap());
    assert_eq!(session.output(&["echo", "hi"]).1, "hi\n");
    let epochs = session.link.epoch();
    drop(lines);
    session.cut();
    session.connect(Line::open(&root));
    assert_eq!(session.output(&["echo", "hi"]).1, "hi\n");
    assert_eq!(session.link.epoch(), epochs);
}

#[test]
fn a_host_with_another_token_is_refused_and_disturbs_nobody() {
    let mut host = Host::new("token");
    assert_eq!(host.output(&["echo", "hi"]).1, "hi\n");
    let mut other = Host::session_with_token(&host.root, [9; 32]);
    other.connect(Line::open(&host.root));
    other.until("the refusal", |other| other.refused);
    assert_eq!(host.output(&["echo", "hi"]).1, "hi\n");
}

#[test]
fn c80_a_host_without_memory_finds_its_commands_again() {
    let mut first = Host::new("again");
    let id = first.run(&["sh", "-c", "sleep 0.4; echo found; exit 5"]);
    let pid = first.started(id);
    first.cut();
    let mut second = Host::session(&first.root, Settings::default(), false);
    second.connect(Line::open(&first.root));
    second.expect_command(id);
    second.send(0, &ToSupervisor::ListRunning);
    second.until("the list", |host| !host.about_supervisor.is_empty());
    let FromSupervisor::Running(running) = &second.about_supervisor[0] else { unreachable!() };
    assert_eq!((running[0].pid, running[0].start_time), (pid, first.commands[&id].start_time));
    second.until("the end", |host| host.commands[&id].exit.is_some() && host.commands[&id].ends[0].is_some());
    assert_eq!((second.commands[&id].exit, second.commands[&id].text()), (Some(Exit::Code(5)), "found\n".to_owned()));
    assert!(!second.prepared.is_empty());
    second.about_supervisor.clear();
    second.shut_down();
}

#[test]
fn c35_when_the_worker_is_killed_its_guardian_ends_everything_and_the_next_join_works() {
    let mut host = Host::new("worker");
    let root = host.root.clone();
    let stubborn = host.run(&["bash", "-c", "trap '' TERM HUP; setsid sleep 6101 & sleep 6101; sleep 6101"]);
    host.started(stubborn);
    host.until("its children", |_| processes_with("sleep 6101").len() >= 2);
    let (_, worker) = resident(&host);
    kill(worker);
    host.until("the joiner's end", |host| host.line.is_none());
    wait_for("the end of all it ran", || processes_with("sleep 6101").is_empty());
    let mut next = Host::session(&root, Settings::default(), true);
    next.connect(Line::open(&root));
    assert_eq!(next.output(&["echo", "hi"]).1, "hi\n");
    assert_ne!(next.link.epoch(), host.link.epoch());
}

#[test]
fn c35_whoever_is_stopped_while_it_starts_a_resident_does_not_keep_a_guardian_from_its_duty() {
    let mut host = Host::new("locked");
    let id = host.run(&["bash", "-c", "trap '' TERM HUP; sleep 6109 & sleep 6109"]);
    host.started(id);
    host.until("its children", |_| processes_with("sleep 6109").len() >= 2);
    // What such a joiner has in hand.
    let root = std::fs::File::open(&host.root).unwrap();
    rustix::fs::flock(&root, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let (_, worker) = resident(&host);
    kill(worker);
    host.until("the joiner's end", |host| host.line.is_none());
    wait_for("the end of all it ran", || processes_with("sleep 6109").is_empty());
}

#[test]
fn c35_when_the_guardian_is_killed_the_worker_and_its_programs_go_with_it() {
    let mut host = Host::new("guardian");
    let root = host.root.clone();
    // A leader goes with its parent; what it has started, and what has left its session, must go as well.
    let id = host.run(&["sh", "-c", "sleep 6102 & setsid sleep 6102 & wait"]);
    host.started(id);
    wait_for("the programs", || processes_with("sleep 6102").len() >= 3);
    let (guardian, worker) = resident(&host);
    kill(guardian);
    host.until("the joiner's end", |host| host.line.is_none());
    wait_for("the end of all", || !lives(worker) && processes_with("sleep 6102").is_empty());
    let mut next = Host::session(&root, Settings::default(), true);
    next.connect(Line::open(&root));
    assert_eq!(next.output(&["echo", "hi"]).1, "hi\n");
}

/// Kills both halves such that neither can act on the other's death.
fn kill_whole(host: &mut Host) {
    let (guardian, worker) = resident(host);
    kill_process(Pid::from_raw(guardian.cast_signed()).unwrap(), Signal::STOP).unwrap();
    kill(worker);
    kill(guardian);
    host.until("the joiner's end", |host| host.line.is_none());
}

#[test]
fn c35_what_a_supervisor_left_that_was_killed_whole_is_ended_by_the_next_one_before_it_says_so() {
    let mut host = Host::new("whole");
    let root = host.root.clone();
    let id = host.run(&["bash", "-c", "trap '' TERM HUP; setsid sleep 6105 & sleep 6105 & sleep 6105"]);
    let pid = host.started(id);
    host.until("its children", |_| processes_with("sleep 6105").len() == 4);
    let (epoch, start_time) = (host.link.epoch(), host.commands[&id].start_time);
    kill_whole(&mut host);
    wait_for("the leader's end", || processes_with("sleep 6105").len() == 3);
    let mut next = Host::session(&root, Settings::default(), true);
    next.connect(Line::open(&root));
    let own = next.run(&["sleep", "6106"]);
    next.started(own);
    let session = LostSession { command: id, pid, start_time };
    next.send(0, &ToSupervisor::EndLost { epochs: vec![epoch, next.link.epoch()], sessions: vec![session] });
    next.until("the answer", |host| !host.about_supervisor.is_empty());
    assert_eq!(next.about_supervisor, [FromSupervisor::LostEnded { survivors: Vec::new() }]);
    assert!(processes_with("sleep 6105").is_empty());
    assert_eq!(processes_with("sleep 6106").len(), 1, "what it runs itself is not touched");
    next.about_supervisor.clear();
}

#[test]
fn c17_spill_files_that_a_killed_supervisor_did_not_finish_are_removed_and_whole_ones_stay() {
    let mut host = Host::new("spills");
    let root = host.root.clone();
    let whole = host.run_spilled(&["head", "-c", "300000", "/dev/zero"], 10, 1 << 20);
    let path = host.finish(whole).spill[0].clone().unwrap();
    let cut = host.run_spilled(&["sh", "-c", "head -c 300000 /dev/zero; exec sleep 6107"], 10, 1 << 20);
    host.started(cut);
    let unfinished = host.commands[&cut].spill[0].clone().unwrap();
    host.until("its file", |_| std::fs::metadata(&unfinished).is_ok_and(|metadata| metadata.len() > 0));
    kill_whole(&mut host);
    assert!(unfinished.exists());
    let mut next = Host::session(&root, Settings::default(), true);
    next.connect(Line::open(&root));
    assert_eq!(next.output(&["echo", "hi"]).1, "hi\n");
    assert!(!unfinished.exists());
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 300_000);
    // The worker alone: then its guardian does it.
    let cut = next.run_spilled(&["sh", "-c", "head -c 300000 /dev/zero; exec sleep 6107"], 10, 1 << 20);
    next.started(cut);
    let unfinished = next.commands[&cut].spill[0].clone().unwrap();
    next.until("its file", |_| std::fs::metadata(&unfinished).is_ok_and(|metadata| metadata.len() > 0));
    let (_, worker) = resident(&next);
    kill(worker);
    next.until("the joiner's end", |host| host.line.is_none());
    wait_for("its removal", || !unfinished.exists());
    assert!(path.exists());
}

#[test]
fn c81_a_supervisor_without_a_host_ends_itself_and_its_commands() {
    let settings = Settings { orphan_busy_ms: 1200, orphan_idle_ms: 300, ..Settings::default() };
    let mut host = Host::with_settings("orphan", settings);
    let id = host.run_with(&["sleep", "6103"], |start| start.grace_ms = 200);
    host.started(id);
    let cut = Instant::now();
    host.cut();
    host.pump_for(Duration::from_millis(700));
    assert!(!processes_with("sleep 6103").is_empty(), "the longer time counts while something runs");
    wait_for("the command's end", || processes_with("sleep 6103").is_empty());
    let root = host.root.clone();
    wait_for("the removal of its state", || !root.exists());
    assert!(cut.elapsed() < Duration::from_secs(5), "{:?}", cut.elapsed());
}

#[test]
fn sealed_words_are_understood() {
    let mut host = Host::new("sealed");
    let root = host.root.clone();
    host.cut();
    host.connect_sealed(Line::open(&root));
    assert_eq!(host.output(&["echo", "sealed"]).1, "sealed\n");
}

#[test]
fn the_resident_holds_no_descriptor_of_the_joiner_and_cannot_be_looked_into() {
    let mut host = Host::new("clean-resident");
    host.output(&["true"]);
    let (guardian, worker) = resident(&host);
    for pid in [guardian, worker] {
        let descriptors: BTreeSet<String> = std::fs::read_dir(format!("/proc/{pid}/fd"))
            .unwrap()
            .flatten()
            .map(|entry| std::fs::read_link(entry.path()).unwrap().to_string_lossy().into_owned())
            .collect();
        let foreign = |name: &&String| {
            !["/dev/null", "socket:", "pipe:", "anon_inode:"].iter().any(|ours| name.starts_with(ours))
        };
        assert_eq!(descriptors.iter().find(foreign), None, "{descriptors:?}");
    }
    let guardians = std::fs::read_dir(format!("/proc/{guardian}/fd")).unwrap().count();
    assert_eq!(guardians, 4, "null three times and the door");
}

#[test]
fn a_program_s_descriptors_do_not_depend_on_what_else_runs() {
    let mut host = Host::new("descriptors");
    let others: Vec<u32> = (0..20).map(|_| host.run_piped(&["sleep", "60"])).collect();
    for &id in &others {
        host.started(id);
    }
    let id = host.run_with(&["sh", "-c", "echo /proc/self/fd/*"], |start| {
        start.stdio = Stdio::Pipes {
            stdin: true,
            stdout: protocol::control::Output::Raw,
            stderr: protocol::control::Output::Raw,
        };
    });
    let text = host.finish(id).text();
    assert!(text.split_whitespace().count() <= 4, "{text}");
    // Closing one's input is seen by its reader alone, prepared processes hold none of it.
    let cat = host.run_piped(&["cat"]);
    host.started(cat);
    host.end_input(cat);
    assert_eq!(host.finish(cat).exit, Some(Exit::Code(0)));
    for id in others {
        host.terminate(id);
        host.finish(id);
    }
}

/// How often a process went to sleep so far, and the processor time that it used, in ticks.
fn activity(pid: u32) -> (u64, u64) {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:")).unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<u64> =
        stat.rsplit(") ").next().unwrap().split(' ').map(|field| field.parse().unwrap_or(0)).collect();
    (line.trim().parse().unwrap(), fields[11] + fields[12])
}

#[test]
fn the_resident_sleeps_when_there_is_nothing_to_do() {
    let mut host = Host::new("sleeps");
    let running = host.run_piped(&["sleep", "60"]);
    let unread = host.run_piped(&["yes"]);
    let typed = host.run_in_terminal(&["sh", "-c", "stty raw -echo; exec sleep 60"]);
    let stopped = host.run(&["bash", "-c", "sleep 60 >/dev/null 2>&1 & exit 0"]);
    host.paused.insert(protocol::StreamId { command: unread, channel: protocol::Channel::Stdout });
    for id in [running, unread, typed, stopped] {
        host.started(id);
    }
    host.write(typed, &vec![b'x'; 4 << 20]);
    host.write(running, &vec![b'x'; 4 << 20]);
    host.pump_for(Duration::from_secs(2));
    let (_, worker) = resident(&host);
    let before = activity(worker);
    host.pump_for(Duration::from_secs(3));
    let after = activity(worker);
    assert!(after.0 - before.0 <= 20 && after.1 - before.1 <= 3, "{before:?} to {after:?}");
    for id in [running, unread, typed, stopped] {
        host.terminate(id);
    }
    host.send(unread, &ToSupervisor::CloseOutput(protocol::control::OutputChannel::Stdout));
    for id in [running, unread, typed, stopped] {
        host.finish(id);
    }
}

#[test]
fn without_descriptors_a_command_is_refused_alone_and_the_next_may_run() {
    let root = host::scratch("descriptors-out");
    let mut host = Host::session(&root, Settings::default(), true);
    host.connect(Line::open_with(&["prlimit", "--nofile=100:100", "--"], &root));
    let ids: Vec<u32> = (0..60).map(|_| host.run_piped(&["sleep", "60"])).collect();
    host.until("all answers", |host| {
        ids.iter().all(|id| host.commands[id].pid.is_some() || host.commands[id].failure.is_some())
    });
    let refused = ids.iter().filter(|id| host.commands[id].failure.is_some()).count();
    assert!((1..60).contains(&refused), "{refused} refused");
    for id in &ids {
        if let Some(failure) = &host.commands[id].failure {
            assert_eq!(failure.errno, libc::EMFILE);
        } else {
            host.terminate(*id);
        }
    }
    for id in ids {
        host.finish(id);
    }
    assert_eq!(host.output(&["sh", "-c", "ulimit -n"]).1, "100\n");
    host.shut_down();
}

#[test]
fn c31_without_descriptors_nobody_is_taken_for_gone() {
    const LIMIT: usize = 60;
    let root = host::scratch("descriptors-gone");
    let mut host = Host::session(&root, Settings::default(), true);
    let limit = format!("--nofile={LIMIT}:{LIMIT}");
    host.connect(Line::open_with(&["prlimit", &limit, "--"], &root));
    let id = host.run(&["bash", "-c", "set -m; sleep 6107 & sleep 6107"]);
    let pid = host.started(id);
    host.until("its children", |_| processes_with("sleep 6107").len() == 3);
    let (_, worker) = resident(&host);
    let open = || std::fs::read_dir(format!("/proc/{worker}/fd")).unwrap().count();
    let mut guests = Vec::new();
    host.until("the last descriptor", |_| {
        guests.push(std::os::unix::net::UnixStream::connect(root.join("supervisor.sock")).unwrap());
        open() == LIMIT
    });
    kill(pid);
    host.until("its exit", |host| host.commands[&id].exit.is_some());
    host.pump_for(Duration::from_millis(200));
    assert!(!host.commands[&id].gone);
    guests.clear();
    host.terminate(id);
    host.until("the end", |host| host.commands[&id].gone);
    assert!(processes_with("sleep 6107").is_empty());
    host.shut_down();
}

#[test]
fn c82_a_host_comes_again_however_many_descriptors_its_commands_have() {
    // What one command takes more or less is left of them.
    for limit in 100..106 {
        let mut host = Host::session(&host::scratch("descriptors-line"), Settings::default(), true);
        let root = host.root.clone();
        host.connect(Line::open_with(&["prlimit", &format!("--nofile={limit}:{limit}"), "--"], &root));
        let ids: Vec<u32> = (0..60).map(|_| host.run(&["sleep", "61"])).collect();
        host.until("all answers", |host| {
            ids.iter().all(|id| host.commands[id].pid.is_some() || host.commands[id].failure.is_some())
        });
        assert!(ids.iter().any(|id| host.commands[id].failure.is_some()));
        host.cut();
        host.connect(Line::open(&root));
        host.until("the attachment", |host| host.link.is_attached());
        host.shut_down();
    }
}

#[test]
fn c24_a_copy_of_the_sandbox_ends_the_supervisor_that_was_woken_in_it() {
    let mut host = Host::new("copy");
    let root = host.root.clone();
    let id = host.run_with(&["sleep", "6104"], |start| start.grace_ms = 200);
    host.started(id);
    let mut other = Host::session_in(&root, "another box");
    other.connect(Line::open(&root));
    other.until("the refusal", |other| other.refused);
    host.until("the end of the original", |host| host.line.is_none());
    wait_for("the end of what it ran", || processes_with("sleep 6104").is_empty());
    // Who joins while this goes fails and is started again; there is nobody here who would.
    wait_for("the removal of its folder", || !root.exists());
    let mut fresh = Host::session_in(&root, "another box");
    fresh.connect(Line::open(&root));
    assert_eq!(fresh.output(&["echo", "hi"]).1, "hi\n");
}
