//! Sandboxes as JSON.

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Map, Value, json};

use super::Control;
use crate::sandboxes::{Phase, Sandbox};

/// The version of the daemon that the built-in one stands for: the SDKs decide by it what they may ask.
pub const DAEMON_VERSION: &str = "0.6.13";

/// A relic that the SDKs still want.
const CLIENT: &str = "sandboxd";

fn instant(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}

fn state(phase: Phase) -> &'static str {
    match phase {
        Phase::Running => "running",
        Phase::Paused | Phase::Ended => "paused",
    }
}

/// What create, connect and resume answer.
pub fn connection(control: &Control, sandbox: &Sandbox) -> Value {
    let mut value = json!({
        "templateID": sandbox.spec.template,
        "sandboxID": &*sandbox.id,
        "clientID": CLIENT,
        "envdVersion": DAEMON_VERSION,
        "domain": control.domain.as_deref(),
        "trafficAccessToken": null,
    });
    if let Some(token) = &sandbox.token {
        value["envdAccessToken"] = token.as_str().into();
    }
    value
}

/// An item of a list.
pub fn item(sandbox: &Sandbox) -> Value {
    let machine = Machine::read();
    json!({
        "templateID": sandbox.spec.template,
        "alias": sandbox.spec.template,
        "sandboxID": &*sandbox.id,
        "clientID": CLIENT,
        "startedAt": instant(sandbox.started_at),
        "endAt": instant(sandbox.end_at()),
        "envdVersion": DAEMON_VERSION,
        "cpuCount": machine.cpus,
        "memoryMB": machine.memory_mb,
        "diskSizeMB": machine.disk_mb,
        "metadata": sandbox.spec.metadata,
        "state": state(sandbox.phase()),
        "volumeMounts": [],
    })
}

/// What `GET /sandboxes/{id}` answers.
pub fn detail(control: &Control, sandbox: &Sandbox) -> Value {
    let mut value = item(sandbox);
    let mut more = Map::new();
    more.insert("domain".to_owned(), control.domain.as_deref().into());
    more.insert("allowInternetAccess".to_owned(), sandbox.spec.internet.into());
    more.insert(
        "lifecycle".to_owned(),
        json!({
            "onTimeout": if sandbox.spec.auto_pause { "pause" } else { "kill" },
            "autoResume": sandbox.spec.auto_resume,
        }),
    );
    if let Some(network) = &sandbox.spec.network {
        more.insert("network".to_owned(), network.clone());
    }
    if let Some(token) = &sandbox.token {
        more.insert("envdAccessToken".to_owned(), token.as_str().into());
    }
    if let Some(object) = value.as_object_mut() {
        object.append(&mut more);
    }
    value
}

/// The size of this machine, which sandboxes share.
struct Machine {
    cpus: usize,
    memory_mb: u64,
    disk_mb: u64,
}

impl Machine {
    fn read() -> Self {
        let memory = rustix::system::sysinfo();
        // The field's type differs between platforms.
        #[allow(clippy::useless_conversion, clippy::unnecessary_cast, reason = "32-bit systems have narrower fields")]
        let memory_mb = (memory.totalram as u64).saturating_mul(u64::from(memory.mem_unit)) >> 20;
        let disk_mb = rustix::fs::statvfs("/").map_or(0, |disk| (disk.f_blocks * disk.f_frsize) >> 20);
        Self { cpus: std::thread::available_parallelism().map_or(1, usize::from), memory_mb, disk_mb }
    }
}
