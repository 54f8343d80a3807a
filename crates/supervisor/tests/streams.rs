//! Streams: input, output, holders, spill files.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod host;

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use host::{Host, lives};
use protocol::control::{EndReason, Exit, Output, OutputChannel, Stdio, ToSupervisor};
use protocol::{Channel, StreamId};

#[test]
fn c14_input_arrives_complete_and_its_end_is_eof() {
    let mut host = Host::new("input");
    let id = host.run_piped(&["sha256sum"]);
    let bytes: Vec<u8> = (0..3_000_000u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    host.write(id, &bytes);
    host.end_input(id);
    let file = host.root.join("copy");
    std::fs::write(&file, &bytes).unwrap();
    let expected = std::process::Command::new("sha256sum").arg(&file).output().unwrap();
    std::fs::remove_file(&file).unwrap();
    let expected = String::from_utf8(expected.stdout).unwrap();
    assert_eq!(host.finish(id).text().split(' ').next(), expected.split(' ').next());
}

#[test]
fn c14_input_right_behind_the_start_is_not_lost() {
    let mut host = Host::new("early");
    for _ in 0..50 {
        let id = host.run_piped(&["cat"]);
        host.write(id, b"early bytes");
        host.end_input(id);
        assert_eq!(host.finish(id).text(), "early bytes");
    }
}

#[test]
fn c14_a_program_that_reads_no_more_closes_its_input_and_ends_as_it_likes() {
    let mut host = Host::new("epipe");
    let id = host.run_piped(&["sh", "-c", "exec <&-; sleep 0.2; exit 7"]);
    host.until("the closed input", |host| host.commands[&id].stdin_closed);
    assert!(host.commands[&id].exit.is_none(), "it is closed before the exit");
    assert_eq!(host.finish(id).exit, Some(Exit::Code(7)));
    let id = host.run_piped(&["sh", "-c", "exit 7"]);
    host.write(id, &vec![0; 64 << 20]);
    assert_eq!(host.finish(id).exit, Some(Exit::Code(7)));
    let id = host.run_piped(&["head", "-c", "1"]);
    host.write(id, &vec![b'x'; 1 << 20]);
    let seen = host.finish(id);
    assert_eq!((seen.exit, seen.text()), (Some(Exit::Code(0)), "x".to_owned()));
}

#[test]
fn c14_a_program_that_does_not_read_holds_the_writer_back() {
    let mut host = Host::new("backpressure");
    let id = host.run_piped(&["sleep", "60"]);
    host.write(id, &vec![0; 16 << 20]);
    host.started(id);
    host.pump_for(Duration::from_millis(300));
    // The pipe and one window may be under way.
    assert!(host.unsent_input(id) > (16 << 20) - (1 << 20), "{}", host.unsent_input(id));
    host.terminate(id);
    host.finish(id);
}

#[test]
fn c15_output_is_lossless_and_one_stalled_stream_stalls_nothing_else() {
    let mut host = Host::new("stalled");
    let stalled = host.run_piped(&["sh", "-c", "head -c 5000000 /dev/zero >&2; echo done"]);
    host.paused.insert(StreamId { command: stalled, channel: Channel::Stderr });
    let other = host.run(&["echo", "hi"]);
    assert_eq!(host.finish(other).text(), "hi\n");
    host.pump_for(Duration::from_millis(200));
    let received = host.commands[&stalled].received[1];
    assert!(received <= 64 * 1024, "no more than its credit: {received}");
    // Now it is read.
    host.paused.clear();
    host.link.consume(StreamId { command: stalled, channel: Channel::Stderr }, received);
    let seen = host.finish(stalled);
    assert_eq!((seen.received[1], seen.text()), (5_000_000, "done\n".to_owned()));
}

#[test]
fn c18_a_gigabyte_costs_the_supervisor_no_memory() {
    let mut host = Host::new("bulk");
    host.keep = false;
    host.output(&["true"]);
    let (_, worker) = host::resident(&host);
    let id = host.run_piped(&["head", "-c", "1000000000", "/dev/zero"]);
    let started = Instant::now();
    host.until("a gigabyte", |host| host.commands[&id].is_over());
    assert_eq!(host.commands[&id].received[0], 1_000_000_000);
    let peak = peak_memory(worker);
    assert!(peak > 0);
    assert!(peak < 48 << 20, "{} KiB after {:?}", peak >> 10, started.elapsed());
}

fn peak_memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or(0, |line| line.split_whitespace().next().unwrap().parse::<u64>().unwrap() << 10)
}

#[test]
fn c22_a_descendant_that_holds_the_output_delays_the_end_by_the_grace_only() {
    let mut host = Host::new("holder");
    for script in [
        "sleep 61 & echo hi; exit 4",
        "setsid sleep 61 & echo hi; exit 4",
        "sleep 61 >/dev/null & echo hi; exit 4",
        "sleep 61 2>/dev/null & echo hi; exit 4",
        "nohup sleep 61 & echo hi; exit 4",
    ] {
        let began = Instant::now();
        let id = host.run_with(&["bash", "-c", script], |start| {
            start.grace_ms = 300;
            let drained = || Output::Drained { spill: None };
            start.stdio = Stdio::Pipes { stdin: false, stdout: drained(), stderr: drained() };
        });
        host.until("both ends", |host| host.commands[&id].ends.iter().all(Option::is_some));
        let seen = &host.commands[&id];
        let waited = seen.exited_at.unwrap().elapsed();
        assert_eq!((seen.exit, seen.text()), (Some(Exit::Code(4)), "hi\n".to_owned()));
        // The grace begins at the exit, of which this host may hear late.
        assert!(began.elapsed() >= Duration::from_millis(300), "{script}: {:?}", began.elapsed());
        assert!(waited < Duration::from_secs(2), "{script}: {waited:?}");
        assert!(seen.ends.iter().flatten().any(|end| end.reason == EndReason::Cut), "{script}: {:?}", seen.ends);
        host.terminate(id);
        host.finish(id);
    }
}

#[test]
fn c22_a_holder_that_never_stops_writing_is_cut_too() {
    let mut host = Host::new("yes");
    host.keep = false;
    let id = host.run_with(&["bash", "-c", "yes & exit 4"], |start| {
        start.grace_ms = 300;
        start.stdio = Stdio::Pipes {
            stdin: false,
            stdout: Output::Drained { spill: None },
            stderr: Output::Drained { spill: None },
        };
    });
    host.until("both ends", |host| host.commands[&id].ends.iter().all(Option::is_some));
    assert!(host.commands[&id].exited_at.unwrap().elapsed() < Duration::from_secs(5));
    host.terminate(id);
    host.finish(id);
}

#[test]
fn c22_what_was_in_the_pipe_at_the_end_of_the_grace_is_still_taken() {
    let mut host = Host::new("late");
    let script = "(sleep 0.2; head -c 50000 /dev/zero; sleep 60) & exit 0";
    let id = host.run_with(&["bash", "-c", script], |start| {
        start.grace_ms = 600;
        let drained = || Output::Drained { spill: None };
        start.stdio = Stdio::Pipes { stdin: false, stdout: drained(), stderr: drained() };
    });
    host.until("the end", |host| host.commands[&id].ends[0].is_some());
    assert_eq!(host.commands[&id].received[0], 50_000);
    host.terminate(id);
    host.finish(id);
}

#[test]
fn c22_a_slow_reader_loses_nothing_of_the_command_s_own_output() {
    let mut host = Host::new("slow");
    let id = host.run_with(&["head", "-c", "200000", "/dev/zero"], |start| {
        start.grace_ms = 100;
        let drained = || Output::Drained { spill: None };
        start.stdio = Stdio::Pipes { stdin: false, stdout: drained(), stderr: drained() };
    });
    let stream = StreamId { command: id, channel: Channel::Stdout };
    host.paused.insert(stream);
    // Longer than the grace before each part is taken.
    while host.commands[&id].ends[0].is_none() {
        host.pump_for(Duration::from_millis(250));
        let untaken = 65_536;
        host.link.consume(stream, untaken);
    }
    assert_eq!(host.finish(id).received[0], 200_000);
}

#[test]
fn c22_a_raw_pipe_is_read_to_its_end_however_long_it_is_held() {
    let mut host = Host::new("raw");
    let id = host.run_with(&["bash", "-c", "(sleep 0.7; echo late) & exit 4"], |start| start.grace_ms = 100);
    let seen = host.finish(id);
    assert_eq!(seen.text(), "late\n");
    assert_eq!(seen.ends[0].as_ref().unwrap().reason, EndReason::Eof);
}

#[test]
fn c22_a_raw_pipe_held_by_an_escapee_ends_by_the_grace_once_the_tree_is_gone() {
    let mut host = Host::new("rawheld");
    let id = host.run_with(&["bash", "-c", "setsid sleep 60 & echo hi"], |start| start.grace_ms = 300);
    let seen = host.finish(id);
    assert_eq!(seen.text(), "hi\n");
    assert_eq!(seen.ends[0].as_ref().unwrap().reason, EndReason::Cut);
}

#[test]
fn an_output_that_is_closed_early_ends_while_its_program_lives_on() {
    let mut host = Host::new("early-end");
    let id = host.run_piped(&["bash", "-c", "echo done; exec 0<&- 1>&- 2>&-; sleep 0.5; exit 7"]);
    host.until("both ends", |host| host.commands[&id].ends.iter().all(Option::is_some));
    assert_eq!(host.commands[&id].exit, None);
    assert_eq!(host.finish(id).exit, Some(Exit::Code(7)));
}

#[test]
fn an_output_that_the_host_closes_breaks_the_program_s_pipe() {
    let mut host = Host::new("close");
    let id = host.run_piped(&["yes"]);
    host.keep = false;
    host.until("some output", |host| host.commands[&id].received[0] > 0);
    host.send(id, &ToSupervisor::CloseOutput(OutputChannel::Stdout));
    let seen = host.finish(id);
    assert_eq!(seen.exit, Some(Exit::Signal { number: 13, core: false }));
}

#[test]
fn c17_a_spill_file_holds_the_whole_stream_and_is_private() {
    let mut host = Host::new("spill");
    let id = host.run_spilled(&["seq", "1", "200000"], 65_536, 10 << 20);
    let expected: String = (1..=200_000).map(|number| format!("{number}\n")).collect();
    let seen = host.finish(id);
    assert!(seen.ends[0].as_ref().unwrap().spilled);
    let path = seen.spill[0].clone().unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), expected);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::metadata(path.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
    assert!(seen.spilled[0] > 0);
    // Valid ones outlive the service.
    host.shut_down();
    assert!(path.exists());
}

#[test]
fn c17_a_stream_that_fits_its_tail_or_is_over_its_cap_leaves_no_file() {
    let mut host = Host::new("no-spill");
    let fits = host.run_spilled(&["head", "-c", "100000", "/dev/zero"], 100_000, 200_000);
    let over = host.run_spilled(&["head", "-c", "300000", "/dev/zero"], 65_536, 200_000);
    let exact = host.run_spilled(&["head", "-c", "200000", "/dev/zero"], 65_536, 200_000);
    let held = host.run_spilled(&["sh", "-c", "head -c 100000 /dev/zero; sleep 60 &"], 65_536, 200_000);
    for (id, lost, kept) in [(fits, false, false), (over, true, false), (exact, false, true)] {
        let seen = host.finish(id);
        assert_eq!((seen.spill_lost[0], seen.ends[0].as_ref().unwrap().spilled), (lost, kept));
        assert_eq!(seen.spill[0].as_ref().unwrap().exists(), kept);
    }
    // Past the grace: the file is withheld.
    host.until("the cut", |host| host.commands[&held].ends[0].is_some());
    assert!(!host.commands[&held].ends[0].as_ref().unwrap().spilled);
    assert!(!host.commands[&held].spill[0].as_ref().unwrap().exists());
    host.terminate(held);
    host.finish(held);
}

#[test]
fn a_program_that_outlives_its_line_is_not_ended_by_it() {
    let mut host = Host::new("quiet");
    let id = host.run(&["sh", "-c", "sleep 0.3; echo late"]);
    let pid = host.started(id);
    assert!(lives(pid));
    assert_eq!(host.finish(id).text(), "late\n");
}
