//! As Linux numbers them.

/// The highest signal number of Linux.
pub const LAST: i32 = 64;

/// Names of 1–31 on x86-64 and arm64; for numbers with two names the one that Node reports (`SIGABRT`, `SIGIO`).
const NAMES: [&str; 31] = [
    "SIGHUP",
    "SIGINT",
    "SIGQUIT",
    "SIGILL",
    "SIGTRAP",
    "SIGABRT",
    "SIGBUS",
    "SIGFPE",
    "SIGKILL",
    "SIGUSR1",
    "SIGSEGV",
    "SIGUSR2",
    "SIGPIPE",
    "SIGALRM",
    "SIGTERM",
    "SIGSTKFLT",
    "SIGCHLD",
    "SIGCONT",
    "SIGSTOP",
    "SIGTSTP",
    "SIGTTIN",
    "SIGTTOU",
    "SIGURG",
    "SIGXCPU",
    "SIGXFSZ",
    "SIGVTALRM",
    "SIGPROF",
    "SIGWINCH",
    "SIGIO",
    "SIGPWR",
    "SIGSYS",
];

/// The name of signal `number`; `None` outside 1–64.
pub(super) fn name(number: i32) -> Option<String> {
    match number {
        1..=31 => usize::try_from(number - 1).ok().map(|index| NAMES[index].to_owned()),
        32 | 33 => Some(format!("SIG{number}")),
        34 => Some("SIGRTMIN".to_owned()),
        35..=LAST => Some(format!("SIGRTMIN+{}", number - 34)),
        _ => None,
    }
}
