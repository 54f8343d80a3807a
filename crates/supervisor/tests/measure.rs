//! Numbers, not judgements: run by hand with `--ignored --nocapture`, best with `DSH_TEST_SUPERVISOR` naming the static
//! binary. One line each on standard error.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod host;

use std::io::Write;
use std::time::{Duration, Instant};

use host::{Host, processes_with};

fn report(text: &str) {
    let mut output = std::io::stderr();
    writeln!(output, "measured: {text}").unwrap();
}

/// Sum of proportional set sizes of processes, in KiB.
fn memory(host: &Host) -> u64 {
    let processes = processes_with(&format!("join {}", host.root.display()));
    let own = host.line.as_ref().unwrap().joiner.id();
    let resident = processes.into_iter().filter(|&pid| pid != own);
    resident
        .map(|pid| {
            let rollup = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
            let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"));
            line.map_or(0, |line| line.split_whitespace().next().unwrap().parse::<u64>().unwrap())
        })
        .sum()
}

/// Times of `count` times `true`, and of the same program without anything between, each sorted.
fn times_of_true(host: &mut Host, count: usize) -> [Vec<Duration>; 2] {
    let (mut times, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..count {
        host.until("a prepared process", |host| !host.prepared.is_empty());
        let started = Instant::now();
        let id = host.run(&["true"]);
        host.until("its end", |host| host.commands[&id].is_over());
        times.push(started.elapsed());
        // In the same moment.
        let started = Instant::now();
        std::process::Command::new("/bin/true").status().unwrap();
        bare.push(started.elapsed());
    }
    bare.sort_unstable();
    times.sort_unstable();
    [times, bare]
}

#[test]
#[ignore = "a measurement"]
fn latency_of_true() {
    let mut host = Host::new("latency");
    let [times, bare] = times_of_true(&mut host, 500);
    report(&format!(
        "`true` median {:?}, best {:?}, p99 {:?}; started directly: median {:?}, best {:?}",
        times[250], times[0], times[495], bare[250], bare[0]
    ));
}

#[test]
#[ignore = "a measurement"]
fn latency_of_true_beside_a_thousand() {
    let mut host = Host::new("beside");
    let [alone, bare] = times_of_true(&mut host, 300);
    report(&format!("alone: `true` median {:?}, best {:?}; started directly {:?}", alone[150], alone[0], bare[150]));
    let ids: Vec<u32> = (0..1000).map(|_| host.run_piped(&["sleep", "600"])).collect();
    for &id in &ids {
        host.started(id);
    }
    let [beside, bare] = times_of_true(&mut host, 300);
    report(&format!("beside: `true` median {:?}, best {:?}; started directly {:?}", beside[150], beside[0], bare[150]));
    for &id in &ids {
        host.terminate(id);
    }
    for id in ids {
        host.finish(id);
    }
}

#[test]
#[ignore = "a measurement"]
fn two_hundred_in_parallel() {
    let mut host = Host::new("parallel");
    host.output(&["true"]);
    let started = Instant::now();
    let ids: Vec<u32> = (0..200).map(|_| host.run(&["true"])).collect();
    for id in ids {
        host.finish(id);
    }
    report(&format!("200 `true` in parallel {:?}", started.elapsed()));
}

#[test]
#[ignore = "a measurement"]
fn throughput() {
    let mut host = Host::new("throughput");
    host.keep = false;
    host.output(&["true"]);
    let started = Instant::now();
    let id = host.run_piped(&["head", "-c", "2147483648", "/dev/zero"]);
    host.until("its end", |host| host.commands[&id].is_over());
    report(&format!("2 GiB out at {:.0} MiB/s", 2048.0 / started.elapsed().as_secs_f64()));
}

#[test]
#[ignore = "a measurement"]
fn memory_of_the_resident() {
    let mut host = Host::new("memory");
    host.output(&["true"]);
    host.pump_for(Duration::from_millis(500));
    report(&format!("idle: {} KiB, prepared processes included", memory(&host)));
    let ids: Vec<u32> = (0..1000).map(|_| host.run_piped(&["sleep", "600"])).collect();
    for &id in &ids {
        host.started(id);
    }
    host.pump_for(Duration::from_millis(500));
    report(&format!("with 1,000 running commands: {} KiB", memory(&host)));
    let asked = Instant::now();
    for &id in &ids {
        host.terminate(id);
    }
    for id in ids {
        host.finish(id);
    }
    report(&format!("1,000 commands terminated in {:?}", asked.elapsed()));
    host.pump_for(Duration::from_millis(500));
    report(&format!("after them: {} KiB", memory(&host)));
}
