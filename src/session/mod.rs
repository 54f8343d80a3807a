//! The host's end of the link to one sandbox' supervisor. Knows neither Node nor the sandbox' daemon: commands,
//! their streams and their ends go in and out; the way to the supervisor is a [`connector::Connector`].
//!
//! JavaScript's thread and the driver's task share [`command::Command`]s and [`request::Request`]s; wishes go through a
//! channel ([`op::Op`]), news through [`wake::Wakes`].

pub mod clock;
pub mod command;
pub mod connector;
pub mod driver;
pub mod errno;
pub mod failure;
pub mod input;
pub mod op;
pub mod output;
pub mod pool;
pub mod queue;
pub mod request;
pub mod secrets;
pub mod settings;
pub mod signal;
pub mod slot;
pub mod tail;
pub mod wake;

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU32, Ordering},
};

use protocol::control::{Resolve, Start};
use tokio::{runtime::Handle, sync::mpsc};

use self::{
    command::{Command, Reserved},
    connector::Connector,
    driver::{Driver, Over, Parts},
    failure::Failure,
    op::Op,
    pool::Pool,
    request::{Answer, Request},
    secrets::Secrets,
    settings::SessionSettings,
};

/// One sandbox' supervisor, as JavaScript's thread sees it.
#[derive(Debug)]
pub struct Session {
    sandbox: String,
    ops: mpsc::UnboundedSender<Op>,
    pool: Arc<Pool>,
    last_command: AtomicU32,
    over: Arc<Mutex<Option<Over>>>,
}

impl Session {
    /// Begins to connect, on `runtime`.
    pub fn begin(
        runtime: &Handle,
        sandbox: String,
        settings: SessionSettings,
        secrets: Secrets,
        connector: Arc<dyn Connector>,
    ) -> Arc<Self> {
        let (ops, receiver) = mpsc::unbounded_channel();
        let pool = Arc::new(Pool::default());
        let over = Arc::new(Mutex::new(None));
        let first = if settings.resumes { apart() } else { 0 };
        let parts = Parts {
            sandbox: sandbox.clone(),
            settings,
            secrets,
            connector,
            ops: receiver,
            pool: Arc::clone(&pool),
            over: Arc::clone(&over),
        };
        runtime.spawn(Driver::new(parts).run());
        Arc::new(Self { sandbox, ops, pool, last_command: AtomicU32::new(first), over })
    }

    /// Id of the sandbox.
    pub fn sandbox(&self) -> &str {
        &self.sandbox
    }

    /// Why it is over, if it is.
    pub fn over(&self) -> Option<Over> {
        self.over.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A prepared process for one command, if there is one.
    pub fn reserve(&self) -> Option<Reserved> {
        self.pool.take().map(|pid| Reserved { pool: Arc::clone(&self.pool), pid })
    }

    fn next_id(&self) -> u32 {
        self.last_command.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn failure(&self) -> Failure {
        match self.over() {
            Some(Over::Gone) => Failure::Gone(self.sandbox.clone()),
            Some(Over::Failed(failure)) => failure,
            Some(Over::Ended) | None => Failure::Closed,
        }
    }

    /// Starts a command, unless it was called off.
    pub fn start(&self, command: &Arc<Command>, mut start: Start) {
        let id = self.next_id();
        let Some(prepared) = command.bind(id, self.ops.clone(), &self.pool) else { return };
        start.prepared = prepared;
        if self.ops.send(Op::Start(id, Arc::clone(command), Box::new(start))).is_err() {
            command.start_failed(Err(self.failure()), false);
        }
    }

    /// Asks which commands a predecessor left running.
    pub fn list_running(&self, request: &Arc<Request>) {
        if self.ops.send(Op::ListRunning(Arc::clone(request))).is_err() {
            request.answer(Err(self.failure()));
        }
    }

    /// Goes on with one of those.
    pub fn adopt(&self, id: protocol::CommandId, pid: u32, command: &Arc<Command>, grace_ms: u32) {
        command.adopt(id, pid, self.ops.clone());
        if self.ops.send(Op::Adopt(id, Arc::clone(command), grace_ms)).is_err() {
            command.start_failed(Err(self.failure()), true);
        }
    }

    /// Looks an executable up; the answer is a path.
    pub fn resolve(&self, request: &Arc<Request>, resolve: Resolve) {
        if self.ops.send(Op::Resolve(self.next_id(), Arc::clone(request), resolve)).is_err() {
            request.answer(Err(self.failure()));
        }
    }

    /// Ends and removes everything of ours in the sandbox.
    pub fn shut_down(&self, request: &Arc<Request>) {
        if self.ops.send(Op::Shutdown(Arc::clone(request))).is_err() {
            request.answer(match self.over() {
                // What never ran there has not to be removed; its commands have told why.
                Some(Over::Failed(failure)) if !matches!(failure, Failure::Delivery(_)) => Err(failure),
                _ => Ok(Answer::Done),
            });
        }
    }

    /// The owner has ended the sandbox itself.
    pub fn gone(&self) {
        let _ = self.ops.send(Op::Gone);
    }

    /// Nobody wants anything any more: whoever waits is told so.
    pub fn close(&self) {
        let _ = self.ops.send(Op::Close);
    }
}

/// Where a host that may have had predecessors begins to number its commands: hardly where one of them did.
fn apart() -> u32 {
    getrandom::u32().unwrap_or_default() & 0x7fff_f000
}
