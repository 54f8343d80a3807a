//! As macOS numbers them.

/// The highest signal number.
pub const LAST: i32 = 31;

/// Names of 1–31; for the number with two names the one that Node reports (`SIGABRT`).
const NAMES: [&str; 31] = [
    "SIGHUP",
    "SIGINT",
    "SIGQUIT",
    "SIGILL",
    "SIGTRAP",
    "SIGABRT",
    "SIGEMT",
    "SIGFPE",
    "SIGKILL",
    "SIGBUS",
    "SIGSEGV",
    "SIGSYS",
    "SIGPIPE",
    "SIGALRM",
    "SIGTERM",
    "SIGURG",
    "SIGSTOP",
    "SIGTSTP",
    "SIGCONT",
    "SIGCHLD",
    "SIGTTIN",
    "SIGTTOU",
    "SIGIO",
    "SIGXCPU",
    "SIGXFSZ",
    "SIGVTALRM",
    "SIGPROF",
    "SIGWINCH",
    "SIGINFO",
    "SIGUSR1",
    "SIGUSR2",
];

/// The name of signal `number`; `None` outside 1–31.
pub(super) fn name(number: i32) -> Option<String> {
    let index = usize::try_from(number.checked_sub(1)?).ok()?;
    NAMES.get(index).map(|&name| name.to_owned())
}
