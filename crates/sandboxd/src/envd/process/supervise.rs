//! From a started process to its end event.

use std::{future, sync::Arc};

use rustix::process::Signal;
use tokio::{
    sync::mpsc,
    task::JoinSet,
    time::{Instant, sleep_until},
};

use super::{
    exit,
    fanout::QUEUE,
    pump::{Source, pump},
    running::Process,
};
use crate::envd::sandbox::Sandbox;

/// Sees a process through:
/// 1. its output goes to the listeners until all its pipes have ended, which a descendant that holds
///    one delays; a signal by request or the deadline cuts this wait;
/// 2. it is waited for, and what is still in its pipes is lost then;
/// 3. when the listeners have all output, they are told the end, which is also kept for late ones.
///
/// At the deadline the process is killed, whether or not anyone listens.
pub async fn supervise(sandbox: Arc<Sandbox>, process: Arc<Process>, sources: Vec<Source>, deadline: Option<Instant>) {
    let (queue, chunks) = mpsc::channel(QUEUE);
    let mut pumps = JoinSet::new();
    for source in sources {
        pumps.spawn(pump(source, process.output.clone(), queue.clone()));
    }
    // The pumps have the only senders now, so the fan-out ends with them.
    drop(queue);
    let output = process.output.clone();
    let fanout = tokio::spawn(async move { output.run(chunks).await });

    let killer = tokio::spawn(kill_at(process.clone(), deadline));
    tokio::select! {
        () = async { while pumps.join_next().await.is_some() {} } => {}
        () = process.cut.cancelled() => {}
    }
    let status = process.ended().await;
    process.gone.cancel();
    killer.abort();
    pumps.shutdown().await;
    // Only a panic in the fan-out is an error here, and its listeners are gone with it.
    let _ = fanout.await;

    let end = match status {
        Ok(status) => exit::end_event(&status),
        Err(error) => exit::failed(error.to_string()),
    };
    sandbox.processes.retire(&process, end.clone());
    process.end.send_replace(Some(end));
}

async fn kill_at(process: Arc<Process>, deadline: Option<Instant>) {
    match deadline {
        None => future::pending().await,
        Some(deadline) => sleep_until(deadline).await,
    }
    process.cut.cancel();
    // An error is a process that has ended in this very moment.
    let _ = process.signal(Signal::KILL);
}
