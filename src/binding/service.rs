//! A provider's service: its sandboxes and their sessions.

use std::{cell::RefCell, collections::HashMap, sync::Arc, time::Duration};

use napi::{Error, Result};
use napi_derive::napi;
use protocol::{
    control::{self, Resolve, Start, Stdio},
    handshake::{Settings, Timing},
};
use serde_bytes::ByteBuf;

use super::{
    handle::NativeHandle,
    objects::{
        OutputSpec, RunningObject, SandboxFacts, ServiceConfig, SessionObject, SpawnSpec, TerminalSpec, Variable,
    },
    request::NativeRequest,
    runtime,
    waker::Waker,
};
use crate::{
    delivery::Machine,
    envd::{self, ControlPlane, Secret},
    remote::{PackedSupervisor, Remote, RemoteSettings},
    session::{
        Session, command::Command, driver::Over, output::Mode, request::Request, secrets::Secrets,
        settings::SessionSettings, wake::Wakes,
    },
};

/// One provider's way to its sandboxes.
#[napi]
pub struct NativeService {
    wakes: Arc<Wakes>,
    settings: SessionSettings,
    packed: Vec<PackedSupervisor>,
    installed: Option<String>,
    sessions: RefCell<HashMap<String, Arc<Session>>>,
    /// The session that new commands are expected to go to.
    current: RefCell<Option<Arc<Session>>>,
}

#[napi]
impl NativeService {
    /// Starts nothing.
    #[napi(constructor, catch_unwind)]
    pub fn new(config: ServiceConfig, waker: &Waker) -> Self {
        let supervisor = Settings {
            env_prefixes: config.env_prefixes,
            login_environment: config.login_environment,
            orphan_busy_ms: whole(config.orphan_busy_ms),
            orphan_idle_ms: whole(config.orphan_idle_ms),
            timing: Timing::streaming(u32::try_from(whole(config.silence_ms)).unwrap_or(u32::MAX).max(1)),
            ..Settings::default()
        };
        let packed = config.supervisors.into_iter().filter_map(|file| {
            let machine =
                [Machine::X86_64, Machine::Aarch64].into_iter().find(|machine| machine.name() == file.architecture)?;
            Some(PackedSupervisor { machine, path: file.path, sha256: file.sha256, size: whole(file.size) })
        });
        Self {
            wakes: Arc::clone(waker.wakes()),
            settings: SessionSettings {
                supervisor,
                lost_after: Duration::from_millis(whole(config.lost_after_ms)),
                resumes: false,
            },
            packed: packed.collect(),
            installed: config.supervisor_path,
            sessions: RefCell::default(),
            current: RefCell::default(),
        }
    }

    /// Whether commands can be given to this sandbox, or are known to fail there for good.
    #[napi(catch_unwind)]
    pub fn knows(&self, sandbox_id: String) -> bool {
        let sessions = self.sessions.borrow();
        sessions.get(&sandbox_id).is_some_and(|session| matches!(session.over(), None | Some(Over::Gone)))
    }

    /// Begins to reach a sandbox' supervisor, in the background, and expects new commands to go there. `session`: the secrets of a harness
    /// that may have been there before.
    #[napi(catch_unwind)]
    pub fn attach(&self, facts: SandboxFacts, session: Option<SessionObject>) -> Result<()> {
        let resumes = session.is_some();
        let secrets = match session {
            Some(SessionObject { name, token }) => {
                let token = <[u8; 32]>::try_from(&token[..]).map_err(|_| Error::from_reason("a token has 32 bytes"))?;
                Secrets::resumed(name, token)
            }
            None => Secrets::new(),
        };
        let secrets = secrets.map_err(|error| Error::from_reason(format!("no random bytes: {error}")))?;
        let id = facts.sandbox_id.clone();
        let settings =
            self.remote_settings(facts, secrets.name.clone()).map_err(|error| Error::from_reason(error.to_string()))?;
        let remote = Remote::new(settings).map_err(|error| Error::from_reason(error.to_string()))?;
        let session = {
            let settings = SessionSettings { resumes, ..self.settings.clone() };
            Session::begin(&runtime::handle()?, id.clone(), settings, secrets, Arc::new(remote))
        };
        self.sessions.borrow_mut().insert(id, Arc::clone(&session));
        self.current.replace(Some(session));
        Ok(())
    }

    /// A command that is not started yet; its process id may be known already.
    #[napi(catch_unwind)]
    pub fn spawn(&self, spec: SpawnSpec) -> NativeHandle {
        let (stdout, out) = output(&spec.stdout);
        let (stderr, err) = output(&spec.stderr);
        let stdio = Stdio::Pipes { stdin: spec.stdin, stdout, stderr };
        let start = start(spec.argv, spec.cwd, spec.env, spec.grace_ms, stdio);
        self.handle(start, spec.stdin, [Some(out), Some(err)])
    }

    /// A terminal that is not started yet.
    #[napi(catch_unwind)]
    pub fn spawn_terminal(&self, spec: TerminalSpec) -> NativeHandle {
        let stdio = Stdio::Terminal { rows: spec.rows, cols: spec.cols };
        let start = start(spec.argv, spec.cwd, spec.env, spec.grace_ms, stdio);
        self.handle(start, true, [Some(Mode::Raw), None])
    }

    /// Starts it at once where new commands are expected to go, if that is known, and holds the caller up to so many milliseconds until its
    /// process id is.
    #[napi(catch_unwind)]
    pub fn start_and_wait(&self, handle: &NativeHandle, wait_ms: f64) {
        let session = self.current.borrow().clone().filter(|session| session.over().is_none());
        if let Some(session) = session
            && let Some(start) = handle.take_start()
        {
            session.start(handle.command(), start);
            handle.command().wait_for_start(Duration::from_millis(whole(wait_ms)));
        }
    }

    /// Starts it in a sandbox that is known. A second time does nothing.
    #[napi(catch_unwind)]
    pub fn start(&self, handle: &NativeHandle, sandbox_id: String) -> Result<()> {
        let session = self.session(&sandbox_id)?;
        if let Some(start) = handle.take_start() {
            session.start(handle.command(), start);
        }
        self.current.replace(Some(session));
        Ok(())
    }

    /// Asks which commands a predecessor left running in a sandbox that is known.
    #[napi(catch_unwind)]
    pub fn list_running(&self, sandbox_id: String) -> Result<NativeRequest> {
        let session = self.session(&sandbox_id)?;
        let request = Request::new(&self.wakes);
        session.list_running(&request);
        Ok(NativeRequest::new(request))
    }

    /// Goes on with one of those. What happens to its outputs here is new; whether they are drained or wait for a reader is as it was.
    #[napi(catch_unwind)]
    pub fn adopt(
        &self,
        sandbox_id: String,
        found: RunningObject,
        stdout: OutputSpec,
        stderr: OutputSpec,
        grace_ms: f64,
    ) -> Result<NativeHandle> {
        let session = self.session(&sandbox_id)?;
        let modes = [Some(output(&stdout).1), Some(output(&stderr).1)];
        let program = found.argv.into_iter().next().unwrap_or_default();
        let command = Command::new(Arc::clone(&self.wakes), program, false, modes, None);
        session.adopt(found.id, found.pid, &command, u32::try_from(whole(grace_ms)).unwrap_or(u32::MAX).max(1));
        Ok(NativeHandle::new(command, Arc::clone(&self.wakes), None))
    }

    /// Looks an executable up in a sandbox that is known. `path` is a search path; `null` is the ambient one.
    #[napi(catch_unwind)]
    pub fn resolve(
        &self,
        sandbox_id: String,
        command: String,
        path: Option<String>,
        cwd: String,
    ) -> Result<NativeRequest> {
        let session = self.session(&sandbox_id)?;
        let request = Request::new(&self.wakes);
        session.resolve(&request, Resolve { command: bytes(command), path: path.map(bytes), cwd: bytes(cwd) });
        Ok(NativeRequest::new(request))
    }

    /// Ends everything in every sandbox and removes what is ours; one question for each.
    #[napi(catch_unwind)]
    pub fn shut_down(&self) -> Vec<NativeRequest> {
        let sessions = self.sessions.borrow();
        let ask = |session: &Arc<Session>| {
            let request = Request::new(&self.wakes);
            session.shut_down(&request);
            NativeRequest::new(request)
        };
        sessions.values().map(ask).collect()
    }

    /// Lets everything go: whoever still waits is told, and nothing here keeps the program any longer.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        self.current.replace(None);
        for (_, session) in self.sessions.borrow_mut().drain() {
            session.close();
        }
    }

    /// The owner has ended this sandbox.
    #[napi(catch_unwind)]
    pub fn gone(&self, sandbox_id: String) {
        if let Some(session) = self.sessions.borrow().get(&sandbox_id) {
            session.gone();
        }
    }
}

/// The environment has ended without a disposal: a worker was terminated, say. Its commands would hold their sessions, and those
/// their connections and what they have read, for as long as the process lives.
impl Drop for NativeService {
    fn drop(&mut self) {
        self.close();
    }
}

impl NativeService {
    fn session(&self, sandbox_id: &str) -> Result<Arc<Session>> {
        let session = self.sessions.borrow().get(sandbox_id).cloned();
        session.ok_or_else(|| Error::from_reason(format!("sandbox {sandbox_id} is not attached")))
    }

    fn handle(&self, start: Start, input: bool, outputs: [Option<Mode>; 2]) -> NativeHandle {
        let program =
            start.argv.first().map(|program| String::from_utf8_lossy(program).into_owned()).unwrap_or_default();
        let reserved = self.current.borrow().as_ref().and_then(|session| session.reserve());
        let command = Command::new(Arc::clone(&self.wakes), program, input, outputs, reserved);
        NativeHandle::new(command, Arc::clone(&self.wakes), Some(start))
    }

    fn remote_settings(&self, facts: SandboxFacts, name: String) -> std::result::Result<RemoteSettings, envd::Error> {
        let secret = |value: Option<String>| value.map(Secret::new);
        let control_plane = match facts.api_url {
            Some(url) => Some(ControlPlane::new(&url, secret(facts.api_key), secret(facts.account_token))?),
            None => None,
        };
        Ok(RemoteSettings {
            facts: envd::SandboxFacts {
                sandbox_id: facts.sandbox_id,
                envd_url: facts.envd_url,
                access_token: secret(facts.access_token),
                traffic_token: secret(facts.traffic_token),
                headers: facts.headers.into_iter().map(|header| (header.name, header.value)).collect(),
                envd_version: facts.envd_version,
                user: None,
            },
            control_plane,
            packed: self.packed.clone(),
            installed: self.installed.clone(),
            root: facts.runtime_root,
            name,
            silence: Duration::from_millis(self.settings.supervisor.timing.silence_ms.into()),
        })
    }
}

fn start(argv: Vec<String>, cwd: String, env: Vec<Variable>, grace_ms: f64, stdio: Stdio) -> Start {
    Start {
        argv: argv.into_iter().map(bytes).collect(),
        cwd: bytes(cwd),
        env: env.into_iter().map(|Variable { name, value }| (bytes(name), value.map(bytes))).collect(),
        // A grace below a millisecond is one of a millisecond: none at all would be no grace.
        grace_ms: u32::try_from(whole(grace_ms)).unwrap_or(u32::MAX).max(1),
        prepared: None,
        stdio,
    }
}

/// What the supervisor and what the host do with an output.
fn output(spec: &OutputSpec) -> (control::Output, Mode) {
    match spec.mode.as_str() {
        "raw" => (control::Output::Raw, Mode::Raw),
        "drained" => (control::Output::Drained { spill: None }, Mode::Drained),
        _ => {
            let window = whole(spec.max_bytes);
            let spill = spec.spill_bytes.map(whole);
            let file = spill.map(|cap| control::Spill { tail: window, cap });
            (
                control::Output::Drained { spill: file },
                Mode::Tail { window: usize::try_from(window).unwrap_or(usize::MAX), spill },
            )
        }
    }
}

fn bytes(text: String) -> ByteBuf {
    ByteBuf::from(text.into_bytes())
}

/// A number of JavaScript as a whole one: rounded down, the nearest there is, 0 for none.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "float casts saturate, which is what is wanted"
)]
pub(super) fn whole(number: f64) -> u64 {
    number as u64
}
