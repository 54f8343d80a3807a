//! The way to a supervisor through the sandbox' daemon: a session's [`Connector`] made of the envd client and of delivery.

mod package;
mod ways;

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::future::{BoxFuture, FutureExt as _};

pub use self::package::PackedSupervisor;
use self::ways::{Down, StreamingWay, UnaryWay};
use crate::{
    delivery::{Delivery, DeliveryError, DeliverySettings},
    envd::{ControlPlane, Envd, Error, SandboxFacts, SandboxState as Known},
    session::connector::{Connection, Connector, JoinFailure, SandboxState},
};

/// Bound for one attempt to reach the supervisor, an upload over a slow line included.
const ATTEMPT: Duration = Duration::from_secs(120);
/// Removing the binary is a courtesy; nobody waits long for it.
const FAREWELL: Duration = Duration::from_secs(3);

/// What is known of a sandbox and of what to bring there.
#[derive(Debug)]
pub struct RemoteSettings {
    /// How its daemon is reached.
    pub facts: SandboxFacts,
    /// Who knows whether it is gone; without, nobody does.
    pub control_plane: Option<ControlPlane>,
    /// The packed supervisors, the likeliest first.
    pub packed: Vec<PackedSupervisor>,
    /// Path of a supervisor that the image brings.
    pub installed: Option<String>,
    /// Our private folder in the sandbox.
    pub root: String,
    /// Names the session's own folder within it.
    pub name: String,
    /// A connection that says nothing for this long is no use.
    pub silence: Duration,
}

/// The way to one sandbox' supervisor.
#[derive(Debug)]
pub struct Remote {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    settings: RemoteSettings,
    envd: Envd,
    delivery: OnceLock<Delivery>,
    /// The supervisor spoke once.
    reached: AtomicBool,
}

impl Remote {
    /// Opens no connection.
    ///
    /// # Errors
    /// When the facts make no client.
    pub fn new(settings: RemoteSettings) -> Result<Self, Error> {
        // Our own owner in this process has connections open already.
        let envd = crate::owner::envd_of(&settings.facts).map_or_else(|| Envd::new(settings.facts.clone()), Ok)?;
        Ok(Self {
            shared: Arc::new(Shared { settings, envd, delivery: OnceLock::new(), reached: AtomicBool::new(false) }),
        })
    }
}

impl Shared {
    /// Reads the package when it is first needed, off the JavaScript thread.
    fn delivery(&self) -> Result<&Delivery, DeliveryError> {
        if let Some(delivery) = self.delivery.get() {
            return Ok(delivery);
        }
        let settings = &self.settings;
        let binaries = match settings.installed {
            Some(_) => Vec::new(),
            None => settings.packed.iter().map(PackedSupervisor::read).collect::<Result<_, _>>()?,
        };
        let folder = format!("{}/native-{}", settings.root.trim_end_matches('/'), settings.name);
        let delivery = DeliverySettings {
            binaries,
            installed: settings.installed.clone(),
            root: settings.root.clone(),
            argv: vec!["join".into(), folder],
            timeout: ATTEMPT,
            silence: settings.silence,
        };
        Ok(self.delivery.get_or_init(|| Delivery::new(self.envd.clone(), delivery)))
    }

    /// A sandbox that had our supervisor once can have it again: whoever says later that it is not there, not allowed or not possible may be an
    /// edge in trouble, or a disk that is full for a while. So it is asked again, and given up as any that can't be reached (C21, C82).
    fn failure(&self, error: &DeliveryError) -> JoinFailure {
        let reached = self.reached.load(Ordering::Relaxed);
        JoinFailure { is_final: error.is_final() && !reached, message: error.to_string() }
    }

    async fn join(&self) -> Result<Connection, DeliveryError> {
        let attachment = self.delivery()?.attach().await?;
        self.reached.store(true, Ordering::Relaxed);
        let (sink, outcome) = attachment.stream_input();
        let streaming_over = async {
            match outcome.await {
                Ok(()) => "the server ended the input stream".to_owned(),
                Err(error) => error.to_string(),
            }
        };
        Ok(Connection {
            streaming: Arc::new(StreamingWay(sink)),
            streaming_over: streaming_over.boxed(),
            unary: Arc::new(UnaryWay(attachment.unary_input())),
            incoming: Box::new(Down(attachment.output)),
        })
    }
}

impl Connector for Remote {
    fn join(&self) -> BoxFuture<'static, Result<Connection, JoinFailure>> {
        let shared = Arc::clone(&self.shared);
        async move { shared.join().await.map_err(|error| shared.failure(&error)) }.boxed()
    }

    fn state(&self) -> BoxFuture<'static, SandboxState> {
        let shared = Arc::clone(&self.shared);
        async move {
            let Some(control_plane) = &shared.settings.control_plane else { return SandboxState::Unknown };
            match control_plane.sandbox_state(&shared.settings.facts.sandbox_id).await {
                Ok(Known::Running) => SandboxState::Running,
                Ok(Known::Paused) => SandboxState::Paused,
                Ok(Known::Gone) => SandboxState::Gone,
                Ok(Known::Unknown) => SandboxState::Unknown,
                Err(error) => {
                    tracing::debug!(%error, "the control plane gives no answer");
                    SandboxState::Unknown
                }
            }
        }
        .boxed()
    }

    fn end_process(&self, pid: u32, start_time: u64) -> BoxFuture<'static, Result<(), String>> {
        let shared = Arc::clone(&self.shared);
        async move {
            let delivery = shared.delivery().map_err(|error| error.to_string())?;
            let ended = tokio::time::timeout(ATTEMPT, delivery.kill_as_root(pid, start_time)).await;
            ended.map_err(|_| "the sandbox' daemon did not answer".to_owned())?.map_err(|error| error.to_string())
        }
        .boxed()
    }

    fn signal_processes(&self, signal: u8, members: Vec<(u32, u64)>) -> BoxFuture<'static, Result<(), String>> {
        let shared = Arc::clone(&self.shared);
        async move {
            let delivery = shared.delivery().map_err(|error| error.to_string())?;
            let sent = tokio::time::timeout(ATTEMPT, delivery.signal_as_root(signal, &members)).await;
            sent.map_err(|_| "the sandbox' daemon did not answer".to_owned())?.map_err(|error| error.to_string())
        }
        .boxed()
    }

    fn farewell(&self) -> BoxFuture<'static, ()> {
        let shared = Arc::clone(&self.shared);
        async move {
            if let Some(delivery) = shared.delivery.get() {
                let removed = tokio::time::timeout(FAREWELL, delivery.remove()).await;
                tracing::debug!(?removed, "the supervisor's file was removed");
            }
        }
        .boxed()
    }
}
