//! Following a program that was started: its tasks.

use std::{os::fd::OwnedFd, sync::Arc, time::Duration};

use process::{Pid, pidfd::PidFd};
use tokio::{
    runtime::Handle,
    sync::{Notify, mpsc},
};

use super::{
    flow::Flow,
    ladder::Ladder,
    leader::Leader,
    life::{Life, Unread},
    living::Living,
    terminal::Far,
    tree::Tree,
    wishes::Wishes,
    writer::Writer,
};
use crate::session::{command::Command, op::Op, pool::Pool};

/// A started program's streams.
pub struct Streams {
    /// Its outputs' flows.
    pub flows: [Option<Arc<Flow>>; 2],
    /// Its outputs.
    pub readings: Vec<Unread>,
    /// Its input.
    pub input: Option<OwnedFd>,
    /// The terminal that they belong to.
    pub terminal: Option<Arc<Far>>,
}

/// Lets the tasks of a started program run.
pub fn attend(
    runtime: &Handle,
    living: &Arc<Living>,
    command: &Arc<Command>,
    grace: Duration,
    (pid, pidfd): (Pid, PidFd),
    streams: Streams,
) {
    let Streams { flows, readings, input, terminal } = streams;
    let changed = Arc::new(Notify::new());
    let writing = input.is_some().then(|| Arc::clone(&changed));
    let leader = Leader::new(pid);
    let is_terminal = terminal.is_some();
    let tree = Arc::new(Tree::new(command, leader, terminal, writing, Arc::clone(living)));
    let ladder = Ladder::new(Arc::clone(&tree), grace);
    let (ops, wishes) = mpsc::unbounded_channel::<Op>();
    // Prepared processes are a supervisor's.
    command.bind(0, ops, &Arc::new(Pool::default()));
    command.started(pid.as_raw_pid().cast_unsigned(), [None, None]);
    let writer = input.map(|input| {
        (Writer { command: Arc::clone(command), changed: Arc::clone(&changed), terminal: is_terminal }, input)
    });
    let session = Arc::clone(tree.session());
    let wishing = Wishes { ladder: Arc::clone(&ladder), session, flows, input: changed }.run(wishes);
    let command = Arc::clone(command);
    // One task begins the others: each that is begun from the caller's thread costs it a wake of the runtime.
    runtime.spawn(async move {
        let outputs = readings.into_iter().map(Unread::begin).collect();
        if let Some((writer, input)) = writer {
            tokio::spawn(writer.run(input));
        }
        tokio::spawn(wishing);
        Life { command, tree, ladder, ended: pidfd.into_owned(), outputs, grace }.run().await;
    });
}
