//! The resident supervisor of one sandbox: a static binary that starts programs, owns their sessions and speaks to the
//! host over the streams that the sandbox daemon gives. See `docs/supervisor.md`.
//!
//! ```text
//! supervisor join DIR [ENVIRONMENT]
//!                                 hand this process' stdin and stdout to the resident supervisor of runtime root DIR,
//!                                 starting it if there is none, and wait until it lets go of them; programs inherit what
//!                                 stands in the file ENVIRONMENT (as /proc/PID/environ has it; it is removed), else its own
//! supervisor kill PID START_TIME  SIGKILL to that process if it started then (clock ticks since boot)
//! supervisor signal NUMBER PID START_TIME …
//!                                 that signal to each of these, likewise
//! supervisor guard                end the sessions that standard input told of, once its other end is gone
//! supervisor version              the version of its protocol
//! ```

mod ambient;
mod attach;
mod clock;
mod command;
mod connection;
mod disk;
mod ending;
mod event_loop;
mod forker;
mod grace;
mod guard;
mod guardian;
mod join;
mod kill;
mod login;
mod lost;
mod memory;
mod orphan_timeout;
mod outbox;
mod poller;
mod pool;
mod quiescence;
mod resolve;
mod socket;
mod state;
mod sweep;
mod terminal;
mod terminate;
mod worker;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

#[global_allocator]
static MEMORY: memory::Memory = memory::Memory;

/// Wrong arguments, as `sysexits.h` numbers it.
const USAGE: u8 = 64;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let words: Vec<&str> = arguments.iter().filter_map(|argument| argument.to_str()).collect();
    let result = match (&words[..], &arguments[..]) {
        (["join", ..], [_, directory]) => join::run(directory.as_ref(), None),
        (["join", ..], [_, directory, environment]) => join::run(directory.as_ref(), Some(environment.as_ref())),
        (["kill", pid, start_time], _) => kill::run(pid, start_time),
        (["signal", number, members @ ..], _) => kill::signal(number, members),
        (["guard"], _) => guard::run(),
        (["version"], _) => writeln!(std::io::stdout(), "{}", protocol::wire::VERSION),
        _ => {
            complain(
                "usage: supervisor join DIR [ENVIRONMENT] | kill PID START_TIME | signal NUMBER PID START_TIME ... | guard | version",
            );
            return ExitCode::from(USAGE);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&error.to_string());
            ExitCode::FAILURE
        }
    }
}

/// One line on standard error, which the daemon passes on to the host.
fn complain(text: &str) {
    let _ = writeln!(std::io::stderr(), "supervisor: {text}");
}
