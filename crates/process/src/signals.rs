//! Signal numbers and their names, as Node names them.

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
///
/// Node has no names for real-time signals and reports a death by one as exit code 0, which would be a lie: here they are
/// `SIGRTMIN+N` counted from 34, as shells print them, and `SIG32`/`SIG33`, which the C library keeps for itself.
pub fn name(number: i32) -> Option<String> {
    match number {
        1..=31 => usize::try_from(number - 1).ok().map(|index| NAMES[index].to_owned()),
        32 | 33 => Some(format!("SIG{number}")),
        34 => Some("SIGRTMIN".to_owned()),
        35..=LAST => Some(format!("SIGRTMIN+{}", number - 34)),
        _ => None,
    }
}

/// The number of a signal's name; the inverse of [`name`], with the aliases `SIGIOT` and `SIGPOLL`.
pub fn number(name: &str) -> Option<i32> {
    match name {
        "SIGIOT" => Some(libc::SIGABRT),
        "SIGPOLL" => Some(libc::SIGIO),
        _ => (1..=LAST).find(|&candidate| self::name(candidate).as_deref() == Some(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_agree_with_the_numbers_of_the_platform() {
        for (text, value) in [("SIGKILL", libc::SIGKILL), ("SIGSTKFLT", libc::SIGSTKFLT), ("SIGSYS", libc::SIGSYS)] {
            assert_eq!(name(value).as_deref(), Some(text));
        }
        assert_eq!(number("SIGCHLD"), Some(libc::SIGCHLD));
        assert_eq!(number("SIGPOLL"), number("SIGIO"));
    }

    #[test]
    fn every_number_has_one_name_and_comes_back_from_it() {
        for value in 1..=LAST {
            assert_eq!(number(&name(value).unwrap()), Some(value));
        }
        assert_eq!((name(0), name(65), number("SIGNOPE")), (None, None, None));
        assert_eq!(name(36).as_deref(), Some("SIGRTMIN+2"));
    }
}
