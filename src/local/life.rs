//! The life of one command, from its start to the end of its session.

use std::{os::fd::OwnedFd, sync::Arc, time::Duration};

use process::exit::Exit;
use tokio::{io::Interest, task::JoinHandle, time};

use super::{flow::Flow, ladder::Ladder, numbers, reader::Reader, tree::Tree, watched::watch};
use crate::session::{
    command::{Command, Outcome},
    failure::Failure,
};

/// How often an end is asked for that no event will tell.
const UNTOLD: Duration = Duration::from_millis(15);
/// What a terminal's last output may take from the program's end to its far end.
const FLUSH: Duration = Duration::from_millis(100);

/// An output that is being read.
#[derive(Debug)]
pub struct Reading {
    /// Steers it.
    pub flow: Arc<Flow>,
    /// Its reader.
    pub task: JoinHandle<()>,
    /// When somebody else holds it at the end.
    pub held: Held,
}

/// An output that is to be read.
#[derive(Debug)]
pub struct Unread {
    /// Who will read it.
    pub reader: Reader,
    /// What is read.
    pub source: OwnedFd,
    /// When somebody else holds it at the end.
    pub held: Held,
}

impl Unread {
    /// Begins to read it, on the runtime of this task.
    pub fn begin(self) -> Reading {
        let flow = Arc::clone(&self.reader.flow);
        Reading { flow, task: tokio::spawn(self.reader.run(self.source)), held: self.held }
    }
}

/// What becomes of an output that somebody holds when the grace is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// It is the caller's: it stays open (C22).
    Stays,
    /// It is cut.
    Cut,
    /// A terminal's: it is cut at once, as its program is over (C51).
    CutAtOnce,
}

/// Follows one command.
pub struct Life {
    /// It exists until its session has ended, whoever else has it.
    pub command: Arc<Command>,
    /// Its session.
    pub tree: Arc<Tree>,
    /// Ends the session.
    pub ladder: Arc<Ladder>,
    /// Readable once the leader has ended.
    pub ended: OwnedFd,
    /// Its outputs.
    pub outputs: Vec<Reading>,
    /// How long they may be held.
    pub grace: Duration,
}

impl Life {
    /// Runs to the end of the session.
    pub async fn run(self) {
        let outcome = self.outcome().await;
        let (_command, tree) = (Arc::clone(&self.command), Arc::clone(&self.tree));
        let terminal = tree.session().terminal.clone();
        if let Some(terminal) = &terminal {
            terminal.program_exited();
            // Who is left in a terminal without its program is ended (C72).
            self.ladder.begin();
        }
        tokio::join!(self.settle(outcome), tree.watch());
        if let Some(terminal) = terminal {
            terminal.close();
        }
    }

    async fn outcome(&self) -> Result<Outcome, Failure> {
        let leader = self.tree.leader();
        let reaped = match self.ended.try_clone().and_then(|ended| watch(ended, Interest::READABLE)) {
            Ok(ended) => {
                let _ = ended.readable().await;
                leader.reap()
            }
            Err(_) => Ok(None),
        };
        match reaped {
            Ok(Some(exit)) => Ok(outcome(exit)),
            Ok(None) => self.asked().await,
            Err(_) => Err(self.untold()),
        }
    }

    /// Without an event (there are too many of them): asks.
    async fn asked(&self) -> Result<Outcome, Failure> {
        loop {
            match self.tree.leader().reap() {
                Ok(Some(exit)) => return Ok(outcome(exit)),
                Ok(None) => time::sleep(UNTOLD).await,
                Err(_) => return Err(self.untold()),
            }
        }
    }

    fn untold(&self) -> Failure {
        Failure::Untold(self.tree.leader().pid().as_raw_pid().cast_unsigned())
    }

    /// Tells how it ended, once its outputs have ended or were held for the grace (C22).
    async fn settle(self, outcome: Result<Outcome, Failure>) {
        let end = time::Instant::now() + self.grace;
        for mut output in self.outputs {
            let until = if output.held == Held::CutAtOnce { time::Instant::now() + FLUSH } else { end };
            if time::timeout_at(until, &mut output.task).await.is_ok() || output.held == Held::Stays {
                continue;
            }
            output.flow.cut();
            // A terminal that nobody reads has no end; its program's is known all the same.
            if output.held == Held::Cut {
                let _ = output.task.await;
            }
        }
        self.command.settle(outcome);
    }
}

fn outcome(exit: Exit) -> Outcome {
    match exit {
        Exit::Code(code) => Outcome { exit_code: u8::try_from(code).ok(), signal: None },
        Exit::Signal { number, .. } => Outcome::signalled(&numbers::signal_name(number)),
    }
}
