//! The whole service: listeners, state, sandboxes, and their orderly end.

pub mod listeners;
pub mod ready;
pub mod signals;
pub mod state;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use axum::serve::ListenerExt;
use tokio_util::sync::CancellationToken;

pub use listeners::Listeners;
pub use ready::Ready;

use crate::boxes::{self, Boxes};
use crate::control::{Control, router};
use crate::edge::{self, Edge};
use crate::hook::{Counts, Links};
use crate::sandboxes::{self, Sandboxes, Spec};

/// The sandbox id that the SDKs assume in their debug mode.
const DEBUG_SANDBOX: &str = "debug_sandbox_id";

/// How the service behaves.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Keys to accept; empty accepts every well-formed one.
    pub keys: Vec<String>,
    /// Where sandboxes keep their files; a new temporary directory without it.
    pub state: Option<PathBuf>,
    /// What clients are told to build host names from.
    pub domain: Option<String>,
    /// The longest life of a sandbox in seconds.
    pub longest: u64,
    /// What sandboxes are like.
    pub boxes: boxes::Options,
}

/// Why the service could not start or go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Files or sockets.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Another service has this state directory.
    #[error("the state directory {} is in use", .0.display())]
    StateInUse(PathBuf),
    /// Sandboxes cannot be built here.
    #[error(transparent)]
    Box(#[from] boxes::Error),
    /// The sandbox of the debug mode did not start.
    #[error(transparent)]
    Sandbox(#[from] sandboxes::Error),
}

/// Serves on `listeners` until `shutdown` fires, then ends every sandbox and removes all state. `announce` gets the ready line
/// once requests are answered.
///
/// # Errors
/// See [`Error`]; nothing is left running.
pub async fn run(
    listeners: Listeners,
    settings: Settings,
    shutdown: CancellationToken,
    announce: impl FnOnce(&Ready) -> io::Result<()>,
) -> Result<(), Error> {
    let state = state::State::open(settings.state.as_deref())?;
    let boxes = Boxes::new(state.path(), settings.boxes).await?;
    let isolation = boxes.isolation();
    if isolation != boxes::Isolation::TwoUsers {
        tracing::warn!(
            ?isolation,
            "sandboxes have one account only; two need root (isolation off: programs see the whole machine)"
        );
    }
    let sandboxes = Arc::new(Sandboxes::new(boxes));
    let (links, counts) = (Arc::new(Links::default()), Arc::new(Counts::default()));
    let ready = Ready::new(&listeners, isolation)?;
    let edge = |only: Option<Arc<str>>| {
        Arc::new(Edge {
            sandboxes: Arc::clone(&sandboxes),
            links: Arc::clone(&links),
            counts: Arc::clone(&counts),
            own_ports: ready.ports.clone(),
            only,
        })
    };
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(edge::run(listeners.edge, edge(None), shutdown.clone()));
    if !listeners.debug.is_empty() {
        let spec = Spec { template: "base".to_owned(), timeout: u64::MAX, ..Spec::default() };
        let sandbox = sandboxes.create_as(DEBUG_SANDBOX.to_owned(), spec).await?;
        for listener in listeners.debug {
            tasks.spawn(edge::run(listener, edge(Some(Arc::clone(&sandbox.id))), shutdown.clone()));
        }
    }
    let control = Control {
        sandboxes: Arc::clone(&sandboxes),
        links,
        counts,
        keys: settings.keys.into(),
        domain: settings.domain.map(Into::into),
        longest: settings.longest,
    };
    announce(&ready)?;
    // An error is a client that has left already.
    let listener = listeners.control.tap_io(|stream| drop(stream.set_nodelay(true)));
    let served = tokio::select! {
        served = axum::serve(listener, router::router(control)) => served,
        () = shutdown.cancelled() => Ok(()),
    };
    shutdown.cancel();
    sandboxes.end().await;
    while tasks.join_next().await.is_some() {}
    state.remove().await;
    Ok(served?)
}
