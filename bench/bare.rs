//! The bare limit of the bench: what the daemon does without a supervisor, through the project's own daemon client.
//!
//! `bare URL TOKEN|- SANDBOX WHAT N` prints one line of JSON a run:
//! - `output N`: N MiB of output of one `Start`: MiB/s, and the client's CPU seconds;
//! - `input N`: N MiB of `StreamInput` into `cat > /dev/null`, to the exit of `cat`: MiB/s;
//! - `true N`: N runs of `true`, one after another: median milliseconds to the pid and to the end;
//! - `parallel N`: N runs of `true` at once: milliseconds for all;
//! - `echo N`: N lines of ten bytes through `cat`: median milliseconds for a line there and back.

use std::{
    env,
    error::Error,
    io::{Write as _, stdout},
    time::{Duration, Instant},
};

use bytes::Bytes;
use dsh_subprocess_native::envd::{Envd, Event, Output, SandboxFacts, Secret, Start};
use serde_json::{Value, json};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Outcome<()> {
    let mut args = env::args().skip(1);
    let mut next = |name: &str| args.next().ok_or_else(|| format!("missing argument {name}"));
    let facts = SandboxFacts {
        envd_url: next("URL")?,
        access_token: Some(next("TOKEN")?).filter(|token| token != "-").map(Secret::new),
        sandbox_id: next("SANDBOX")?,
        traffic_token: None,
        headers: Vec::new(),
        envd_version: "0.6.13".into(),
        user: None,
    };
    let (what, n) = (next("WHAT")?, next("N")?.parse::<usize>()?);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    // In a task, as in the addon: the main thread would be woken by each event.
    let line = runtime.block_on(runtime.spawn(async move {
        let envd = Envd::new(facts)?;
        envd.warm().await;
        match what.as_str() {
            "output" => output(&envd, n).await,
            "input" => input(&envd, n).await,
            "true" => one_by_one(&envd, n).await,
            "parallel" => parallel(&envd, n).await,
            "echo" => echo(&envd, n).await,
            other => Err(format!("unknown measurement {other}").into()),
        }
    }))??;
    writeln!(stdout(), "{line}")?;
    Ok(())
}

fn program(cmd: &str, args: &[&str]) -> Start {
    Start { cmd: cmd.into(), args: args.iter().map(|&arg| arg.to_owned()).collect(), ..Start::default() }
}

/// Reads to the end; the number of bytes of stdout.
async fn drain(mut output: Output) -> Outcome<usize> {
    let mut total = 0;
    loop {
        match output.next().await? {
            Some(Event::Stdout(bytes)) => total += bytes.len(),
            Some(Event::Stderr(_)) => {}
            Some(Event::Ended(_)) | None => return Ok(total),
        }
    }
}

fn rate(mib: usize, spent: Duration) -> f64 {
    f64::from(u32::try_from(mib).unwrap_or(u32::MAX)) / spent.as_secs_f64()
}

async fn output(envd: &Envd, mib: usize) -> Outcome<Value> {
    let bytes = mib << 20;
    let (cpu, begin) = (cpu_seconds(), Instant::now());
    let started = envd.start(program("head", &["-c", &bytes.to_string(), "/dev/zero"])).await?;
    let got = drain(started.output).await?;
    let spent = begin.elapsed();
    if got != bytes {
        return Err(format!("{got} bytes instead of {bytes}").into());
    }
    let cpu = cpu_seconds().zip(cpu).map(|(after, before)| after - before);
    Ok(json!({ "what": "output", "mib": mib, "mibPerSecond": rate(mib, spent), "cpuSeconds": cpu }))
}

async fn input(envd: &Envd, mib: usize) -> Outcome<Value> {
    let bytes = (mib << 20).to_string();
    let started = envd.start(program("sh", &["-c", "head -c $0 >/dev/null", &bytes])).await?;
    let part = Bytes::from(vec![0; 64 << 10]);
    let begin = Instant::now();
    let (sink, _outcome) = envd.stream_input(started.pid);
    for _ in 0..mib * 16 {
        sink.send(part.clone()).await.map_err(|_| "the input stream ended")?;
    }
    drain(started.output).await?;
    Ok(json!({ "what": "input", "mib": mib, "mibPerSecond": rate(mib, begin.elapsed()) }))
}

async fn one_by_one(envd: &Envd, n: usize) -> Outcome<Value> {
    let (mut pids, mut ends) = (Vec::new(), Vec::new());
    for _ in 0..n {
        let begin = Instant::now();
        let started = envd.start(program("true", &[])).await?;
        pids.push(begin.elapsed());
        drain(started.output).await?;
        ends.push(begin.elapsed());
    }
    Ok(json!({ "what": "true", "runs": n, "pidMs": median(pids), "endMs": median(ends) }))
}

async fn parallel(envd: &Envd, n: usize) -> Outcome<Value> {
    let begin = Instant::now();
    let runs: Vec<_> = (0..n)
        .map(|_| {
            let envd = envd.clone();
            tokio::spawn(async move { drain(envd.start(program("true", &[])).await?.output).await })
        })
        .collect();
    for run in runs {
        run.await??;
    }
    Ok(json!({ "what": "parallel", "runs": n, "ms": begin.elapsed().as_secs_f64() * 1e3 }))
}

async fn echo(envd: &Envd, n: usize) -> Outcome<Value> {
    let mut cat = envd.start(program("cat", &[])).await?;
    let (sink, _outcome) = envd.stream_input(cat.pid);
    let mut times = Vec::new();
    for _ in 0..n {
        let begin = Instant::now();
        sink.send(Bytes::from_static(b"123456789\n")).await.map_err(|_| "the input stream ended")?;
        let mut got = 0;
        while got < 10 {
            match cat.output.next().await? {
                Some(Event::Stdout(bytes)) => got += bytes.len(),
                other => return Err(format!("unexpected {other:?}").into()),
            }
        }
        times.push(begin.elapsed());
    }
    envd.kill(cat.pid).await?;
    Ok(json!({ "what": "echo", "runs": n, "ms": median(times) }))
}

/// In milliseconds.
fn median(mut times: Vec<Duration>) -> Option<f64> {
    times.sort();
    times.get(times.len() / 2).map(|time| time.as_secs_f64() * 1e3)
}

/// User and system time of this process; `None` where the system does not tell it in `/proc`.
fn cpu_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<_> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |index: usize| fields.get(index).and_then(|field| field.parse::<f64>().ok());
    // The unit of these fields is fixed at 1/100 s for user space.
    Some((ticks(11)? + ticks(12)?) / 100.0)
}
