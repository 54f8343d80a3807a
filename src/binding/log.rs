//! The debug log (C84).

#![cfg_attr(test, allow(dead_code, reason = "only JavaScript calls it, and a test has none"))]

use std::{io::IsTerminal as _, sync::Once};

use napi_derive::napi;
use tracing_subscriber::EnvFilter;

static STARTED: Once = Once::new();

/// Starts the log on standard error, once a process. `filter` has tracing's filter syntax; a wrong one logs everything from
/// this package, so that asking for a log never gives silence.
#[napi(catch_unwind)]
pub fn start_log(filter: String) {
    STARTED.call_once(|| {
        let filter = EnvFilter::try_new(&filter).unwrap_or_else(|_| EnvFilter::new("dsh_subprocess_native=debug"));
        let format = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(std::io::stderr().is_terminal());
        // Another addon of this process may log already; then this one goes without.
        let _ = format.with_writer(std::io::stderr).try_init();
    });
}
