//! Transfer objects. Defaults, validation and convenience are the shim's; `null` means unset.

use napi::bindgen_prelude::Buffer;
use napi_derive::napi;

use crate::session::{
    command::Outcome,
    failure::{ErrorFacts, Failure},
};

/// How a service behaves.
#[napi(object, object_to_js = false, use_nullable = true)]
pub struct ServiceConfig {
    /// Ambient names that start with one of these do not reach programs.
    pub env_prefixes: Vec<String>,
    /// Read the sandbox' `/etc/profile` once.
    pub login_environment: bool,
    /// A pre-installed supervisor in the image.
    pub supervisor_path: Option<String>,
    /// The packed supervisors: architecture (`x86_64`, `aarch64`) and path on this machine.
    pub supervisors: Vec<PackedFile>,
    /// Milliseconds without a host after which the supervisor ends everything, while commands run; 0 is never.
    pub orphan_busy_ms: f64,
    /// The same with none running.
    pub orphan_idle_ms: f64,
    /// Milliseconds that an unreachable sandbox is waited for.
    pub lost_after_ms: f64,
    /// Milliseconds without a word after which a connection is given up.
    pub silence_ms: f64,
}

/// A packed supervisor.
#[napi(object, object_to_js = false, use_nullable = true)]
pub struct PackedFile {
    /// As `uname -m` says it.
    pub architecture: String,
    /// Where its gzip file is.
    pub path: String,
    /// SHA-256 of the unpacked file, in lower-case hex.
    pub sha256: String,
    /// Length of the unpacked file, in bytes.
    pub size: f64,
}

/// How a sandbox is reached, from the SDK's object.
#[napi(object, object_to_js = false, use_nullable = true)]
pub struct SandboxFacts {
    /// Its id.
    pub sandbox_id: String,
    /// Base URL of its daemon.
    pub envd_url: String,
    /// `X-Access-Token`.
    pub access_token: Option<String>,
    /// `e2b-traffic-access-token`.
    pub traffic_token: Option<String>,
    /// Further headers: name, value.
    pub headers: Vec<Header>,
    /// The daemon's version.
    pub envd_version: String,
    /// Base URL of the control plane; without it a sandbox is never known to be gone.
    pub api_url: Option<String>,
    /// Key for it.
    pub api_key: Option<String>,
    /// Account token for it.
    pub account_token: Option<String>,
    /// Directory in the sandbox that is ours.
    pub runtime_root: String,
}

/// What a harness keeps to find its commands again (C80).
#[napi(object, object_to_js = false, use_nullable = true)]
pub struct SessionObject {
    /// Names the session's folder; letters and digits.
    pub name: String,
    /// 32 bytes that prove that this is the same harness.
    pub token: Buffer,
}

/// A command that was found again.
#[napi(object)]
pub struct RunningObject {
    /// By what it is adopted.
    pub id: u32,
    /// Its process id.
    pub pid: u32,
    /// Program and arguments.
    pub argv: Vec<String>,
}

/// A header.
#[napi(object, object_to_js = false, use_nullable = true)]
pub struct Header {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// A command.
#[napi(object, object_to_js = false, use_nullable = true)]
pub struct SpawnSpec {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Working directory.
    pub cwd: String,
    /// Changes to the environment, in order.
    pub env: Vec<Variable>,
    /// Milliseconds.
    pub grace_ms: f64,
    /// Whether descriptor 0 is a pipe.
    pub stdin: bool,
    /// Descriptor 1.
    pub stdout: OutputSpec,
    /// Descriptor 2.
    pub stderr: OutputSpec,
}

/// A terminal.
#[napi(object, object_to_js = false, use_nullable = true)]
pub struct TerminalSpec {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Working directory.
    pub cwd: String,
    /// Changes to the environment, in order.
    pub env: Vec<Variable>,
    /// Milliseconds.
    pub grace_ms: f64,
    /// Its rows.
    pub rows: u16,
    /// Its columns.
    pub cols: u16,
}

/// A change to the environment.
#[napi(object, object_to_js = false, use_nullable = true)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value; `null` removes it.
    pub value: Option<String>,
}

/// Where an output goes: `raw`, `drained` or `tail`.
#[napi(object, object_to_js = false, use_nullable = true)]
pub struct OutputSpec {
    /// Which of these.
    pub mode: String,
    /// Of a tail: bytes of the window.
    pub max_bytes: f64,
    /// Of a tail: largest size of the spill file.
    pub spill_bytes: Option<f64>,
}

/// An error, for the shim to make one of.
#[napi(object, object_from_js = false)]
pub struct ErrorObject {
    /// `code`.
    pub code: String,
    /// `message`.
    pub message: String,
    /// `errno`, negative.
    pub errno: Option<i32>,
    /// `syscall`.
    pub syscall: Option<String>,
    /// `path`.
    pub path: Option<String>,
}

impl From<&Failure> for ErrorObject {
    fn from(failure: &Failure) -> Self {
        let ErrorFacts { code, message, errno, syscall, path } = failure.facts();
        Self { code, message, errno, syscall, path }
    }
}

/// How a command ended.
#[napi(object, object_from_js = false, use_nullable = true)]
pub struct OutcomeObject {
    /// Exit code.
    pub exit_code: Option<u32>,
    /// Signal.
    pub signal: Option<String>,
    /// Why it can't be known.
    pub error: Option<ErrorObject>,
}

impl From<Result<Outcome, Failure>> for OutcomeObject {
    fn from(outcome: Result<Outcome, Failure>) -> Self {
        match outcome {
            Ok(Outcome { exit_code, signal }) => Self { exit_code: exit_code.map(u32::from), signal, error: None },
            Err(failure) => Self { exit_code: None, signal: None, error: Some((&failure).into()) },
        }
    }
}

/// What is known of a tree.
#[napi(object, object_from_js = false, use_nullable = true)]
pub struct TreeObject {
    /// It has no members, for ever.
    pub gone: bool,
    /// It could not be ended, or nobody knows.
    pub error: Option<ErrorObject>,
}

/// A foreground group.
#[napi(object, object_from_js = false)]
pub struct ForegroundObject {
    /// Its id.
    pub process_group_id: u32,
    /// Whether it waits for input.
    pub input_waiting: bool,
}

/// An answer.
#[napi(object, object_from_js = false, use_nullable = true)]
pub struct AnswerObject {
    /// Why there is none.
    pub error: Option<ErrorObject>,
    /// A path.
    pub path: Option<String>,
    /// A foreground group.
    pub foreground: Option<ForegroundObject>,
    /// A group that was signalled.
    pub group: Option<u32>,
    /// Commands that were found.
    pub running: Option<Vec<RunningObject>>,
}
