//! Names of Linux signals, as Node gives them in `signal`.

const NAMES: [&str; 32] = [
    "",
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

/// A signal's name. Real-time signals, for which Node has none, are `SIGRTMIN`, `SIGRTMIN+n`; the two that the
/// C library keeps for itself and unknown ones are `SIGn`.
pub fn name(number: u8) -> String {
    match number {
        1..=31 => NAMES[usize::from(number)].to_owned(),
        34 => "SIGRTMIN".to_owned(),
        35..=64 => format!("SIGRTMIN+{}", number - 34),
        _ => format!("SIG{number}"),
    }
}

/// The number of a signal that `signalForeground` takes.
pub fn number(name: &str) -> Option<u8> {
    NAMES.iter().position(|known| !known.is_empty() && *known == name).and_then(|index| u8::try_from(index).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c20_every_signal_has_a_name_and_the_usual_ones_have_nodes() {
        assert_eq!(name(15), "SIGTERM");
        assert_eq!(name(9), "SIGKILL");
        assert_eq!(name(31), "SIGSYS");
        assert_eq!(name(34), "SIGRTMIN");
        assert_eq!(name(64), "SIGRTMIN+30");
        for signal in 1..=64 {
            assert!(name(signal).starts_with("SIG"));
        }
    }

    #[test]
    fn numbers_are_the_inverse_of_names() {
        for signal in 1..=31 {
            assert_eq!(number(&name(signal)), Some(signal));
        }
        assert_eq!(number(""), None);
        assert_eq!(number("TERM"), None);
    }
}
