//! What is said about commands. Every type here is a payload of [`crate::wire::Kind::Control`] or
//! [`crate::wire::Kind::End`], encoded with `postcard`; names and paths are bytes, as Linux has them.

use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

use crate::wire::{BadBytes, Channel, Kind, MAX_CONTROL};

/// Host to supervisor, about the frame's command (0: about the supervisor).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToSupervisor {
    /// Start the command. Answered by `Started` or `StartFailed`, once.
    Start(Box<Start>),
    /// End the command's tree: TERM, after its grace KILL. Answered by `Gone` or `CleanupFailed`.
    /// Before the start it cancels it. Repeated: tries again after a failure.
    Terminate,
    /// The host takes no more of an output: the pipe is closed, the program sees EPIPE.
    CloseOutput(OutputChannel),
    /// Find an executable, under an id of its own. Answered by `Resolved`.
    Resolve(Resolve),
    /// New size of the command's terminal.
    Resize {
        /// Rows.
        rows: u16,
        /// Columns.
        cols: u16,
    },
    /// Which group is in front, and does it wait for input? Answered by `Foreground` with the same number.
    InspectForeground {
        /// Chosen by the host.
        request: u32,
    },
    /// Signal the terminal's foreground group. Answered by `ForegroundSignalled` with the same number.
    SignalForeground {
        /// Chosen by the host.
        request: u32,
        /// Linux signal number.
        signal: u8,
    },
    /// Which commands are there? Answered by `Running` (command 0).
    ListRunning,
    /// The service ends: end every command and escapee, remove all state, exit. Answered by `Ended` (command 0).
    Shutdown,
    /// Former supervisors were killed, and perhaps nobody ended what they ran: kill it. Answered by `LostEnded` (command 0), once for
    /// all that was asked until then.
    EndLost {
        /// Their epochs.
        epochs: Vec<u64>,
        /// Commands that ran under them.
        sessions: Vec<LostSession>,
    },
}

/// A command of a supervisor that was killed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostSession {
    /// Its id, for the answer.
    pub command: u32,
    /// As it was started.
    pub pid: u32,
    /// As it was started.
    pub start_time: u64,
}

/// A command to start.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// Program and arguments; at least one.
    pub argv: Vec<ByteBuf>,
    /// Working directory; a relative one, or `~`, counts from the home of the sandbox' user.
    pub cwd: ByteBuf,
    /// Changes to the scrubbed ambient environment, in order: set, or with `None` remove.
    pub env: Vec<(ByteBuf, Option<ByteBuf>)>,
    /// Milliseconds between TERM and KILL, and how long a pipe's holder can delay the end of its stream.
    pub grace_ms: u32,
    /// The prepared process to use; when it is gone, a new one is taken.
    pub prepared: Option<u32>,
    /// What its descriptors are.
    pub stdio: Stdio,
}

impl std::fmt::Debug for Start {
    // Arguments and environment may hold secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Start")
            .field("arguments", &self.argv.len())
            .field("variables", &self.env.len())
            .field("prepared", &self.prepared)
            .field("stdio", &self.stdio)
            .finish_non_exhaustive()
    }
}

/// What a command's descriptors are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stdio {
    /// Three descriptors of their own.
    Pipes {
        /// Whether descriptor 0 is a pipe from the host; else it is `/dev/null`.
        stdin: bool,
        /// Descriptor 1.
        stdout: Output,
        /// Descriptor 2.
        stderr: Output,
    },
    /// One terminal: `Stdin` is what is typed, `Stdout` what it shows.
    Terminal {
        /// Rows.
        rows: u16,
        /// Columns.
        cols: u16,
    },
}

/// Where an output goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Output {
    /// To the host, complete: its end is the end of the pipe, whoever holds it; the grace only counts
    /// once the command is terminated or its tree is gone.
    Raw,
    /// To the host; a holder delays its end by the grace at most.
    Drained {
        /// Also into a file.
        spill: Option<Spill>,
    },
}

/// A file that takes a whole output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spill {
    /// The host keeps this many last bytes; an output that fits needs no file.
    pub tail: u64,
    /// The file's largest size; an output over it loses its file.
    pub cap: u64,
}

/// An output of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OutputChannel {
    /// Standard output, or a terminal's.
    Stdout,
    /// Standard error.
    Stderr,
}

impl From<OutputChannel> for Channel {
    fn from(output: OutputChannel) -> Self {
        match output {
            OutputChannel::Stdout => Self::Stdout,
            OutputChannel::Stderr => Self::Stderr,
        }
    }
}

/// Find an executable, by the rules of `resolveExecutable`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolve {
    /// An absolute path, or a bare name.
    pub command: ByteBuf,
    /// The search path; `None` is the ambient one.
    pub path: Option<ByteBuf>,
    /// What relative entries of the path are relative to; itself as a command's.
    pub cwd: ByteBuf,
}

/// Supervisor to host, about the frame's command (0: about the supervisor).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FromSupervisor {
    /// Ids of processes that wait for a command; each is given out once.
    Prepared {
        /// Their process ids.
        pids: Vec<u32>,
    },
    /// The command runs.
    Started {
        /// Its process, session and group id.
        pid: u32,
        /// Its start, in clock ticks since boot: with the id, its identity.
        start_time: u64,
        /// Where its spill files are, if it asked for some: standard output's and standard error's.
        spill: [Option<ByteBuf>; 2],
    },
    /// The command could not be started. Its streams end.
    StartFailed(StartFailure),
    /// The command's process ended; its streams may go on.
    Exited(Exit),
    /// No living process of the command's session is left.
    Gone,
    /// The command's tree could not be ended.
    CleanupFailed(Survivor),
    /// The program reads no more: what is written to it is lost.
    StdinClosed,
    /// The spill file holds everything up to this offset of its stream.
    Spilled {
        /// Which.
        output: OutputChannel,
        /// Bytes.
        offset: u64,
    },
    /// The spill file is gone: over its cap, or the disk failed.
    SpillLost {
        /// Which.
        output: OutputChannel,
    },
    /// Answer to `Resolve`.
    Resolved(Result<ByteBuf, ResolveFailure>),
    /// Answer to `InspectForeground`; `None` when there is no foreground group.
    Foreground {
        /// Of the question.
        request: u32,
        /// The group, and whether it waits for input at this terminal.
        group: Option<(u32, bool)>,
    },
    /// Answer to `SignalForeground`.
    ForegroundSignalled {
        /// Of the question.
        request: u32,
        /// The group that got the signal.
        result: Result<u32, SignalFailure>,
    },
    /// Answer to `ListRunning`.
    Running(Vec<Running>),
    /// Everything is ended and removed; the supervisor exits.
    Ended {
        /// What could not be ended.
        survivors: Vec<Survivor>,
    },
    /// Answer to `EndLost`: nothing of it lives but these.
    LostEnded {
        /// What could not be ended; command 0 where it left its command's session, or that was not named.
        survivors: Vec<Survivor>,
    },
}

/// Why a command could not be started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartFailure {
    /// Linux error number.
    pub errno: i32,
    /// What failed.
    pub stage: StartStage,
}

/// What failed when a command could not be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StartStage {
    /// No descriptor, process or memory to be had.
    Resources,
    /// The working directory.
    Cwd,
    /// The program.
    Exec,
    /// Terminated before it began.
    Cancelled,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exit {
    /// By itself.
    Code(u8),
    /// By a signal.
    Signal {
        /// Linux signal number.
        number: u8,
        /// Whether it left a core.
        core: bool,
    },
    /// It ended, nobody knows how (its supervisor was killed).
    Unknown,
}

/// A process that could not be ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Survivor {
    /// The command; 0 for an escapee.
    pub command: u32,
    /// Its process id.
    pub pid: u32,
    /// Its user.
    pub uid: u32,
    /// Its start, in clock ticks since boot: with the id, its identity.
    pub start_time: u64,
    /// Linux error number of the last attempt.
    pub errno: i32,
}

/// Why no executable was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ResolveFailure {
    /// A bare name that is nowhere on the path.
    NotOnPath,
    /// A path that is no executable regular file.
    NotExecutable,
}

/// Why no foreground group was signalled, or not all of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SignalFailure {
    /// There is none.
    NoGroup,
    /// SIGKILL at the terminal's own shell.
    OwnShell,
    /// The kernel refused: Linux error number.
    Errno(i32),
    /// Members belong to another user; only a host that may act as root reaches them.
    Denied {
        /// The group.
        group: u32,
        /// Whether it has other members, which were reached.
        reached: bool,
        /// The signal that they did not get.
        signal: u8,
        /// Who: process id and start, in clock ticks since boot.
        members: Vec<(u32, u64)>,
    },
}

/// A command that a host finds again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Running {
    /// Its id.
    pub command: u32,
    /// Its process id.
    pub pid: u32,
    /// Its start, in clock ticks since boot: with the id, its identity.
    pub start_time: u64,
    /// Its program and arguments.
    pub argv: Vec<ByteBuf>,
    /// Its descriptors.
    pub stdio: Stdio,
    /// Offsets from which its outputs go on: standard output's and standard error's.
    pub offsets: [u64; 2],
}

/// A stream's end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamEnd {
    /// Bytes that the stream had.
    pub offset: u64,
    /// Why it ended.
    pub reason: EndReason,
    /// Whether its spill file was kept: complete, within its cap, and needed.
    pub spilled: bool,
}

/// Why a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EndReason {
    /// Nobody holds its other end.
    Eof,
    /// Somebody still held it when the grace was over.
    Cut,
    /// The other side did not want the rest, or there was nothing to read from.
    Closed,
}

/// A message's bytes.
pub fn encode<T: Serialize>(message: &T) -> Vec<u8> {
    // Serialising plain data into a vector can only fail for types whose length is unknown; ours have none.
    postcard::to_allocvec(message).unwrap_or_default()
}

/// Whether this can travel as the content of a message: of a longer one the other end takes nothing, and gives the connection up.
pub fn fits<T: Serialize>(content: &T) -> bool {
    // The message's own tag takes a byte.
    postcard::experimental::serialized_size(content).is_ok_and(|size| size < MAX_CONTROL)
}

/// A message from its bytes.
///
/// # Errors
/// [`BadBytes::Payload`] when the bytes are no such message, or more than one.
pub fn decode<'a, T: Deserialize<'a>>(kind: Kind, bytes: &'a [u8]) -> Result<T, BadBytes> {
    match postcard::take_from_bytes(bytes) {
        Ok((message, [])) => Ok(message),
        _ => Err(BadBytes::Payload(kind)),
    }
}
