//! `GET /metrics`: what the machine under the sandbox uses.

use std::{
    fs,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{SystemTime, UNIX_EPOCH},
};

use axum::{
    body::Body,
    extract::State,
    http::{
        HeaderValue, Response, StatusCode,
        header::{CACHE_CONTROL, CONTENT_TYPE},
    },
};
use serde::Serialize;

use super::sandbox::Sandbox;

const MIB: u64 = 1 << 20;

#[derive(Debug, Serialize)]
struct Metrics {
    /// Seconds since 1970.
    ts: u64,
    cpu_count: usize,
    /// Since the last call, in percent of all processors.
    cpu_used_pct: f64,
    mem_total_mib: u64,
    mem_used_mib: u64,
    /// Bytes, as are all below.
    mem_total: u64,
    mem_used: u64,
    mem_cache: u64,
    disk_used: u64,
    disk_total: u64,
}

/// One sample as JSON, or 500 when the system doesn't tell.
pub async fn metrics(State(sandbox): State<Arc<Sandbox>>) -> Response<Body> {
    let sample = tokio::task::spawn_blocking(move || sample(&sandbox)).await.ok().flatten();
    let mut response = match sample.and_then(|sample| serde_json::to_string(&sample).ok()) {
        Some(text) => Response::new(Body::from(text + "\n")),
        None => {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
            response
        }
    };
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn sample(sandbox: &Sandbox) -> Option<Metrics> {
    let memory = fs::read_to_string("/proc/meminfo").ok()?;
    let field = |name| memory_field(&memory, name);
    let total = field("MemTotal")?;
    let cache = field("Cached").unwrap_or(0) + field("SReclaimable").unwrap_or(0);
    let used = total.saturating_sub(field("MemAvailable")?);
    let disk = rustix::fs::statvfs("/").ok()?;
    let disk_total = disk.f_blocks * disk.f_frsize;
    Some(Metrics {
        ts: SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs(),
        cpu_count: thread::available_parallelism().ok()?.get(),
        cpu_used_pct: sandbox.cpu.used_percent(&fs::read_to_string("/proc/stat").ok()?),
        mem_total_mib: total / MIB,
        mem_used_mib: used / MIB,
        mem_total: total,
        mem_used: used,
        mem_cache: cache,
        disk_used: disk_total.saturating_sub(disk.f_bavail * disk.f_frsize),
        disk_total,
    })
}

/// A field of `/proc/meminfo` in bytes.
fn memory_field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes * 1024)
}

/// Turns readings of the processors' total time into usage since the reading before.
#[derive(Debug, Default)]
pub struct CpuMeter {
    /// Busy and total time of the last reading, in clock ticks.
    last: Mutex<(u64, u64)>,
}

impl CpuMeter {
    /// Percent of all processors since the last call (since boot at first), two decimal places.
    fn used_percent(&self, stat: &str) -> f64 {
        let times: Vec<u64> = stat
            .lines()
            .next()
            .unwrap_or_default()
            .split_whitespace()
            .skip(1)
            // Guest time, the ninth and tenth, is part of user time already.
            .take(8)
            .filter_map(|number| number.parse().ok())
            .collect();
        let total: u64 = times.iter().sum();
        // The fourth and fifth are idle and waiting for disks.
        let busy = total.saturating_sub(times.iter().skip(3).take(2).sum());
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let (busy_before, total_before) = std::mem::replace(&mut *last, (busy, total));
        let elapsed = total.saturating_sub(total_before);
        if elapsed == 0 {
            return 0.0;
        }
        #[allow(clippy::cast_precision_loss, reason = "ticks of one machine's life stay far below 2^53")]
        let share = busy.saturating_sub(busy_before) as f64 / elapsed as f64;
        (share * 10_000.0).round() / 100.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_told_in_bytes() {
        let text = "MemTotal:       2048 kB\nCached:  12 kB\n";
        assert_eq!(memory_field(text, "MemTotal"), Some(2 << 20));
        assert_eq!(memory_field(text, "Cached"), Some(12 << 10));
        assert_eq!(memory_field(text, "Mem"), None);
    }

    #[test]
    fn cpu_usage_is_that_since_the_last_reading() {
        let meter = CpuMeter::default();
        let read = |stat: &str| meter.used_percent(stat);
        assert!((read("cpu 10 0 10 70 10 0 0 0 5 0") - 20.0).abs() < 1e-9);
        assert!((read("cpu 110 0 10 70 10 0 0 0 5 0") - 100.0).abs() < 1e-9);
        assert!(read("cpu 110 0 10 70 10 0 0 0 5 0").abs() < 1e-9);
    }
}
