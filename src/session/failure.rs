//! Why something could not be done, and the JavaScript error that it becomes.

use protocol::{
    control::{StartFailure, StartStage, Survivor},
    handshake::Refusal,
};

use super::errno;

/// What a failure is as a JavaScript error. `None` is an absent property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorFacts {
    /// `code`.
    pub code: String,
    /// `message`.
    pub message: String,
    /// `errno`: the negated Linux number, as Node has it.
    pub errno: Option<i32>,
    /// `syscall`.
    pub syscall: Option<String>,
    /// `path`.
    pub path: Option<String>,
}

/// A failure. No message holds a token, an argument beyond the program's name, or a value of an environment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The program could not be started (C21): Node's own spawn error, also for a bad working directory.
    #[error("spawn {program} {}", errno::describe(.failure.errno))]
    Start {
        /// `argv[0]` as given.
        program: String,
        /// What the supervisor said.
        failure: StartFailure,
    },
    /// The sandbox could not be reached for too long. `ERR_SANDBOX_UNREACHABLE`.
    #[error("sandbox {sandbox} has been unreachable for {seconds} s: {reason}")]
    Lost {
        /// Its id.
        sandbox: String,
        /// How long, in seconds.
        seconds: u64,
        /// What the last attempt said.
        reason: String,
    },
    /// The sandbox does not exist any more. `ERR_SANDBOX_GONE`.
    #[error("sandbox {0} is gone")]
    Gone(String),
    /// The supervisor could not be brought into the sandbox or does not run there. `ERR_SUPERVISOR_START`.
    #[error("{0}")]
    Delivery(String),
    /// The supervisor does not want this host. `ERR_SUPERVISOR_REFUSED`.
    #[error("{0}")]
    Refused(Refusal),
    /// The supervisor was killed while it worked on this. `ERR_SUPERVISOR_KILLED`.
    #[error("the supervisor in the sandbox was killed")]
    Killed,
    /// Processes that could not be ended (C32). `ERR_SUBPROCESS_SURVIVED`.
    #[error("could not end {}", survivors(.0))]
    Survived(Vec<Survivor>),
    /// Processes that could not be ended because nothing shows them (C32). `ERR_SUBPROCESS_SURVIVED`.
    #[error("could not end what is left of the session of process {0}: /proc does not show it")]
    Unseen(u32),
    /// No executable of that name on the path (C40). `ENOENT`.
    #[error("command {0:?} was not found on PATH")]
    NotOnPath(String),
    /// A path that is no executable regular file (C40). `EACCES`.
    #[error("{0:?} is not an executable file")]
    NotExecutable(String),
    /// More words than a program can be given (C40). `E2BIG`.
    #[error("executable name and PATH are too long")]
    TooLong,
    /// The terminal has no foreground group (C53). `ERR_TERMINAL_FOREGROUND`.
    #[error("cannot resolve foreground process group")]
    NoForeground,
    /// SIGKILL at the terminal's own shell (C53). `ERR_TERMINAL_SHELL`.
    #[error("refusing to SIGKILL the terminal shell; terminate the terminal session instead")]
    OwnShell,
    /// The kernel refused a signal (C53).
    #[error("kill {}", errno::describe(*.0))]
    Signal(i32),
    /// Somebody else in this process took the end of one of our children. `ERR_SUBPROCESS_UNKNOWN`.
    #[error("the end of process {0} was taken by other code of this process")]
    Untold(u32),
    /// No such command was left by a predecessor (C80). `ERR_SUBPROCESS_UNKNOWN`.
    #[error("no running command {0} was found")]
    NotRunning(u32),
    /// The service was closed. `ERR_SUBPROCESS_CLOSED`.
    #[error("the service is closed")]
    Closed,
}

impl Failure {
    /// The JavaScript error.
    pub fn facts(&self) -> ErrorFacts {
        let plain = |code: &str| ErrorFacts {
            code: code.to_owned(),
            message: self.to_string(),
            errno: None,
            syscall: None,
            path: None,
        };
        match self {
            Self::Start { program, failure } => ErrorFacts {
                code: errno::describe(failure.errno),
                message: self.to_string(),
                errno: Some(-failure.errno),
                syscall: Some(format!("spawn {program}")),
                path: Some(program.clone()),
            },
            Self::Signal(errno) => {
                ErrorFacts { errno: Some(-errno), syscall: Some("kill".to_owned()), ..plain(&errno::describe(*errno)) }
            }
            Self::Lost { .. } => plain("ERR_SANDBOX_UNREACHABLE"),
            Self::Gone(_) => plain("ERR_SANDBOX_GONE"),
            Self::Delivery(_) => plain("ERR_SUPERVISOR_START"),
            Self::Refused(_) => plain("ERR_SUPERVISOR_REFUSED"),
            Self::Killed => plain("ERR_SUPERVISOR_KILLED"),
            Self::Survived(_) | Self::Unseen(_) => plain("ERR_SUBPROCESS_SURVIVED"),
            Self::NotOnPath(command) => ErrorFacts { path: Some(command.clone()), ..plain("ENOENT") },
            Self::NotExecutable(command) => ErrorFacts { path: Some(command.clone()), ..plain("EACCES") },
            Self::TooLong => plain("E2BIG"),
            Self::NoForeground => plain("ERR_TERMINAL_FOREGROUND"),
            Self::OwnShell => plain("ERR_TERMINAL_SHELL"),
            Self::Untold(_) | Self::NotRunning(_) => plain("ERR_SUBPROCESS_UNKNOWN"),
            Self::Closed => plain("ERR_SUBPROCESS_CLOSED"),
        }
    }

    /// Whether a start was called off before it began.
    pub fn is_cancelled(failure: &StartFailure) -> bool {
        failure.stage == StartStage::Cancelled
    }
}

fn survivors(survivors: &[Survivor]) -> String {
    let one = |survivor: &Survivor| {
        format!("process {} of user {} ({})", survivor.pid, survivor.uid, errno::describe(survivor.errno))
    };
    survivors.iter().map(one).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c21_a_failed_start_is_nodes_own_spawn_error() {
        let failure =
            Failure::Start { program: "no-such".into(), failure: StartFailure { errno: 2, stage: StartStage::Exec } };
        let facts = failure.facts();
        assert_eq!(facts.message, "spawn no-such ENOENT");
        assert_eq!((facts.code.as_str(), facts.errno), ("ENOENT", Some(-2)));
        assert_eq!((facts.syscall.as_deref(), facts.path.as_deref()), (Some("spawn no-such"), Some("no-such")));
    }

    #[test]
    fn c32_what_survived_is_named_with_pid_and_user() {
        let survivor = Survivor { command: 1, pid: 77, uid: 0, start_time: 5, errno: 1 };
        let facts = Failure::Survived(vec![survivor]).facts();
        assert_eq!(facts.message, "could not end process 77 of user 0 (EPERM)");
        assert_eq!(facts.code, "ERR_SUBPROCESS_SURVIVED");
    }
}
