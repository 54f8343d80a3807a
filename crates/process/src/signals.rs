//! Signal numbers of this system and their names, as Node names them.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(target_os = "macos")]
use macos as system;

pub use system::LAST;

/// The name of signal `number`; `None` for what is none here.
///
/// Node has no names for the real-time signals of Linux and reports a death by one as exit code 0, which would be a lie: here they
/// are `SIGRTMIN+N` counted from 34, as shells print them, and `SIG32`/`SIG33`, which the C library keeps for itself.
pub fn name(number: i32) -> Option<String> {
    system::name(number)
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
        #[cfg(target_os = "linux")]
        assert_eq!(name(libc::SIGSTKFLT).as_deref(), Some("SIGSTKFLT"));
        #[cfg(target_os = "macos")]
        assert_eq!(name(libc::SIGEMT).as_deref(), Some("SIGEMT"));
        for (text, value) in [("SIGKILL", libc::SIGKILL), ("SIGUSR1", libc::SIGUSR1), ("SIGSYS", libc::SIGSYS)] {
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
        assert_eq!((name(0), name(LAST + 1), number("SIGNOPE")), (None, None, None));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn real_time_signals_are_named_as_shells_print_them() {
        assert_eq!(name(36).as_deref(), Some("SIGRTMIN+2"));
    }
}
