//! What JavaScript asks of a session's driver.

use std::sync::Arc;

use protocol::{
    CommandId,
    control::{OutputChannel, Resolve, Start},
};

use super::{command::Command, request::Request};

/// One wish.
#[derive(Debug)]
pub enum Op {
    /// Start a command under this id.
    Start(CommandId, Arc<Command>, Box<Start>),
    /// A command's input has bytes or its end.
    Input(CommandId),
    /// What is wanted next of a terminal comes after this much of its input ([`super::input::Input::written`]).
    InputFirst(CommandId, u64),
    /// A reader took so many bytes.
    Consumed(CommandId, OutputChannel, usize),
    /// Nobody reads an output any more.
    CloseOutput(CommandId, OutputChannel),
    /// End a command's tree.
    Terminate(CommandId),
    /// Which commands did a predecessor leave?
    ListRunning(Arc<Request>),
    /// Go on with one of those, with this grace in milliseconds.
    Adopt(CommandId, Arc<Command>, u32),
    /// Find an executable, under this id.
    Resolve(CommandId, Arc<Request>, Resolve),
    /// A terminal has another size: rows, columns.
    Resize(CommandId, u16, u16),
    /// Which group is in front of a terminal?
    Inspect(CommandId, Arc<Request>),
    /// Signal the group in front of a terminal.
    Signal(CommandId, Arc<Request>, u8),
    /// End everything in the sandbox that is ours.
    Shutdown(Arc<Request>),
    /// The owner has ended the sandbox itself.
    Gone,
    /// Nobody wants anything any more; what runs in the sandbox is left to itself.
    Close,
}
