//! Names of Linux signals (x86-64 and arm64), as Node gives them. A crate of its own because both ends need them: programs run on
//! Linux, while their host may be any system.

/// The highest signal number.
pub const LAST: u8 = 64;

/// Names of 1–31; for numbers with two names the one that Node reports (`SIGABRT`, `SIGIO`).
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

/// The name of signal `number`; `None` outside 1–[`LAST`].
///
/// Node has no names for real-time signals. Here they are `SIGRTMIN`, `SIGRTMIN+n` counted from 34, as shells print them, and `SIG32`
/// and `SIG33`, which the C library keeps for itself.
#[must_use]
pub fn name(number: u8) -> Option<String> {
    match number {
        1..=31 => NAMES.get(usize::from(number) - 1).map(|&name| name.to_owned()),
        32 | 33 => Some(format!("SIG{number}")),
        34 => Some("SIGRTMIN".to_owned()),
        35..=LAST => Some(format!("SIGRTMIN+{}", number - 34)),
        _ => None,
    }
}

/// The number of a signal's name; the inverse of [`name`].
#[must_use]
pub fn number(name: &str) -> Option<u8> {
    (1..=LAST).find(|&candidate| self::name(candidate).as_deref() == Some(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c20_every_signal_has_a_name_and_the_usual_ones_have_nodes() {
        for (signal, text) in
            [(15, "SIGTERM"), (9, "SIGKILL"), (31, "SIGSYS"), (33, "SIG33"), (34, "SIGRTMIN"), (64, "SIGRTMIN+30")]
        {
            assert_eq!(name(signal).as_deref(), Some(text));
        }
        assert_eq!((name(0), name(LAST + 1)), (None, None));
    }

    #[test]
    fn numbers_are_the_inverse_of_names() {
        for signal in 1..=LAST {
            assert_eq!(name(signal).and_then(|name| number(&name)), Some(signal));
        }
        assert_eq!([number(""), number("TERM"), number("SIGRTMIN+31")], [None; 3]);
    }
}
