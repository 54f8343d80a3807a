//! Commands: programs that were started for the host, with their sessions and streams.
//!
//! ```text
//! Start ─► Starting ─► Running ─► Exited ─► Gone ─► (streams ended) forgotten
//!             └──────────────► failed ─────────────► forgotten
//! ```
//!
//! *Exited*: its own process ended, and is kept as a zombie so that its number stays its own. *Gone*: nobody of its session
//! lives; the zombie is reaped. Output may go on until its last holder closes it.

mod all;
pub mod exit;
pub mod output;
pub mod requests;
pub mod spill;
pub mod start;
pub mod stdin;
pub mod streams;

use std::rc::Rc;
use std::time::Duration;

use process::Pid;
use process::pidfd::PidFd;
use process::pty::Terminal;
use protocol::Channel;
use protocol::control::Stdio;
use serde_bytes::ByteBuf;

use crate::quiescence::Watched;
use crate::terminate::Ladder;
use output::Output;
use start::Launch;
use stdin::Input;

pub use all::Commands;

/// Where a command is in its life.
pub enum Phase {
    /// Its process has the program, the exec is not confirmed.
    Starting(Box<Launch>),
    /// The program runs.
    Running,
    /// Its process ended.
    Exited,
    /// Its tree ended, or it never began.
    Gone,
}

/// A command.
pub struct Command {
    /// Program and arguments, for a host that finds it again.
    pub argv: Vec<ByteBuf>,
    /// Its descriptors.
    pub stdio: Stdio,
    /// Between TERM and KILL, and for holders of its output.
    pub grace: Duration,
    /// Where it is.
    pub phase: Phase,
    /// When its process started, in clock ticks since boot.
    pub start_time: u64,
    /// Its process, unreaped as long as this is there.
    pub leader: Option<(Pid, PidFd)>,
    /// A living member of its session whose end is waited for, once the leader has ended.
    pub member: Option<Watched>,
    /// How far its termination is.
    pub ladder: Ladder,
    /// Standard input, or what is typed.
    pub stdin: Input,
    /// Standard output (or what a terminal shows) and standard error.
    pub outputs: [Option<Output>; 2],
    /// Its terminal, if it has one.
    pub terminal: Option<Rc<Terminal>>,
}

impl Command {
    /// Its process id while its number is its own.
    pub fn pid(&self) -> Option<Pid> {
        match &self.phase {
            Phase::Starting(launch) => Some(launch.pid()),
            _ => self.leader.as_ref().map(|(pid, _)| *pid),
        }
    }

    /// Whether its process ended while somebody of its session may live.
    pub fn is_exited(&self) -> bool {
        matches!(self.phase, Phase::Exited)
    }

    /// Whether nobody of it lives.
    pub fn is_gone(&self) -> bool {
        matches!(self.phase, Phase::Gone)
    }

    /// Whether nothing will ever be said about it again.
    pub fn is_over(&self) -> bool {
        self.is_gone() && self.outputs.iter().flatten().all(Output::is_over)
    }

    /// Whether nothing about it is due, now or later, unless something happens to it.
    pub fn is_quiet(&self) -> bool {
        matches!(self.phase, Phase::Starting(_) | Phase::Running)
            && self.member.is_none()
            && self.ladder.wakes().is_none()
            && self.outputs.iter().flatten().all(Output::is_quiet)
    }

    /// One of its outputs.
    pub fn output_mut(&mut self, channel: Channel) -> Option<&mut Output> {
        self.outputs[index_of(channel)?].as_mut()
    }
}

/// Which output a channel is.
pub fn index_of(channel: Channel) -> Option<usize> {
    match channel {
        Channel::Stdin => None,
        Channel::Stdout => Some(0),
        Channel::Stderr => Some(1),
    }
}

/// The channel of an output.
pub fn channel_of(index: usize) -> Channel {
    if index == 0 { Channel::Stdout } else { Channel::Stderr }
}
