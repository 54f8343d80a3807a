//! A question to the supervisor that JavaScript asked, and its answer.

use super::{failure::Failure, slot::Slot};

/// What an answered question brings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is done.
    Done,
    /// A path.
    Path(String),
    /// A terminal's foreground group and whether it waits for input; `None` when there is none.
    Foreground(Option<(u32, bool)>),
    /// The group that was signalled.
    Group(u32),
    /// Commands that a predecessor left running.
    Running(Vec<RunningCommand>),
}

/// A command that a predecessor left running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningCommand {
    /// By what it can be adopted.
    pub id: u32,
    /// Its process id.
    pub pid: u32,
    /// Program and arguments.
    pub argv: Vec<String>,
}

/// One question, and the place of its answer.
pub type Request = Slot<Result<Answer, Failure>>;
