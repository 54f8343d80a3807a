//! A provider's service on this very machine.

use std::{sync::Arc, time::Duration};

use napi::{Env, Result};
use napi_derive::napi;
use process::environment::{Change, Environment};
use protocol::control::{StartFailure, StartStage};

use super::{
    handle::NativeHandle,
    objects::{OutputSpec, PackedFile, Variable},
    runtime,
    service::whole,
    waker::Waker,
};
use crate::{
    delivery::Machine,
    local::{
        ambient, guard,
        living::Living,
        start::{self, Output, Place, Program, Stdio},
        terminal,
    },
    remote::PackedSupervisor,
    session::{command::Command, output::Mode, wake::Wakes},
};

/// One provider's programs.
#[napi]
pub struct NativeLocal {
    wakes: Arc<Wakes>,
    living: Arc<Living>,
}

/// A program with pipes.
#[napi(object, object_to_js = false, use_nullable = true)]
pub struct LocalSpec {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Working directory; `null` is this process' own.
    pub cwd: Option<String>,
    /// The harness' environment as `NAME=value` entries with a NUL between them; `null` is this process' own, which nobody changes meanwhile.
    pub ambient: Option<String>,
    /// Changes to it, in order.
    pub env: Vec<Variable>,
    /// Milliseconds.
    pub grace_ms: f64,
    /// Whether descriptor 0 is a socket; else the null device.
    pub stdin: bool,
    /// Descriptor 1.
    pub stdout: OutputSpec,
    /// Descriptor 2.
    pub stderr: OutputSpec,
    /// Directory of spill files; `null` is a private one below `temporary`.
    pub spill_directory: Option<String>,
    /// Directory of temporary files; empty when no output spills.
    pub temporary: String,
}

/// A program in a terminal.
#[napi(object, object_to_js = false, use_nullable = true)]
pub struct LocalTerminalSpec {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Working directory.
    pub cwd: String,
    /// The harness' environment as `NAME=value` entries with a NUL between them; `null` is this process' own, which nobody changes meanwhile.
    pub ambient: Option<String>,
    /// Changes to it, in order.
    pub env: Vec<Variable>,
    /// Milliseconds.
    pub grace_ms: f64,
    /// Its rows.
    pub rows: u16,
    /// Its columns.
    pub cols: u16,
}

#[napi]
impl NativeLocal {
    /// Starts nothing. `supervisors` are the packed ones, of which this machine's guards what is started here.
    #[napi(constructor, catch_unwind)]
    pub fn new(env: Env, waker: &Waker, supervisors: Vec<PackedFile>) -> Result<Self> {
        let own =
            [Machine::X86_64, Machine::Aarch64].into_iter().find(|machine| machine.name() == std::env::consts::ARCH);
        let packed = supervisors.into_iter().find(|file| file.architecture == std::env::consts::ARCH);
        if let (Some(machine), Some(PackedFile { path, sha256, size, .. })) = (own, packed) {
            guard::arm(&runtime::handle()?, PackedSupervisor { machine, path, sha256, size: whole(size) });
        }
        let living = Arc::new(Living::default());
        // A worker thread that is ended from outside has no `exit` event.
        env.add_env_cleanup_hook(Arc::clone(&living), |living| living.kill_all())?;
        Ok(Self { wakes: Arc::clone(waker.wakes()), living })
    }

    /// Starts a command; its process id is known when this returns, or -1 when the start failed.
    #[napi(catch_unwind)]
    pub fn spawn(&self, spec: LocalSpec) -> Result<NativeHandle> {
        let runtime = runtime::handle()?;
        let outputs = [output(&spec.stdout), output(&spec.stderr)];
        let modes = outputs.map(|output| match output {
            Output::Inherited => None,
            Output::Piped(mode) => Some(mode),
        });
        let name = spec.argv.first().cloned().unwrap_or_default();
        let command = Command::new(Arc::clone(&self.wakes), name, spec.stdin, modes, None);
        let stdio = Stdio {
            input: spec.stdin,
            outputs,
            spill: spec
                .spill_directory
                .map_or_else(|| Place::Private(spec.temporary.into()), |directory| Place::Directory(directory.into())),
        };
        match environment(spec.ambient, spec.env) {
            Ok(environment) => {
                let program = Program {
                    argv: bytes(spec.argv),
                    cwd: spec.cwd.map(String::into_bytes),
                    environment,
                    grace: grace(spec.grace_ms),
                };
                start::start(&runtime, &self.living, &command, &program, &stdio);
            }
            Err(failure) => start::fail(&command, failure),
        }
        Ok(NativeHandle::new(command, Arc::clone(&self.wakes), None))
    }

    /// Opens a terminal; its process id is known when this returns, or -1 when the start failed.
    #[napi(catch_unwind)]
    pub fn spawn_terminal(&self, spec: LocalTerminalSpec) -> Result<NativeHandle> {
        let runtime = runtime::handle()?;
        let name = spec.argv.first().cloned().unwrap_or_default();
        let command = Command::new(Arc::clone(&self.wakes), name, true, [Some(Mode::Raw), None], None);
        match environment(spec.ambient, spec.env) {
            Ok(environment) => {
                let program = Program {
                    argv: bytes(spec.argv),
                    cwd: Some(spec.cwd.into_bytes()),
                    environment,
                    grace: grace(spec.grace_ms),
                };
                terminal::open(&runtime, &self.living, &command, &program, spec.rows, spec.cols);
            }
            Err(failure) => start::fail(&command, failure),
        }
        Ok(NativeHandle::new(command, Arc::clone(&self.wakes), None))
    }

    /// Whether this process' own environment has a variable of this name.
    #[napi(catch_unwind)]
    pub fn has_variable(name: String) -> bool {
        std::env::var_os(name).is_some()
    }

    /// SIGKILL to everything that is not known to have ended, at once; nothing is waited for.
    #[napi(catch_unwind)]
    pub fn kill_all(&self) {
        self.living.kill_all();
    }
}

fn bytes(texts: Vec<String>) -> Vec<Vec<u8>> {
    texts.into_iter().map(String::into_bytes).collect()
}

/// A grace below a millisecond is one of a millisecond: none at all would be no grace.
fn grace(ms: f64) -> Duration {
    Duration::from_millis(whole(ms).max(1))
}

fn environment(ambient: Option<String>, changes: Vec<Variable>) -> std::result::Result<Environment, StartFailure> {
    let mut environment = ambient::scrubbed(ambient.map_or_else(ambient::of_this_process, String::into_bytes));
    let change = |variable: Variable| {
        (variable.name.into_bytes(), variable.value.map_or(Change::Remove, |value| Change::Set(value.into_bytes())))
    };
    let changes: Vec<_> = changes.into_iter().map(change).collect();
    // The shim has refused what can't be said.
    environment.apply(&changes).map_err(|_| StartFailure { errno: libc::EINVAL, stage: StartStage::Exec })?;
    Ok(environment)
}

fn output(spec: &OutputSpec) -> Output {
    match spec.mode.as_str() {
        "inherited" => Output::Inherited,
        "raw" => Output::Piped(Mode::Raw),
        _ => Output::Piped(Mode::Tail {
            window: usize::try_from(whole(spec.max_bytes)).unwrap_or(usize::MAX),
            spill: spec.spill_bytes.map(whole),
        }),
    }
}
