//! Between this system's numbers and Linux', which are those of the session (`crate::session`), whatever runs the programs.

use process::signals;

use crate::session::signal;

/// What the name of a signal of this system is.
pub fn signal_name(here: i32) -> String {
    signals::name(here).unwrap_or_else(|| format!("SIG{here}"))
}

/// This system's number for a signal of Linux; `None` for one that it does not have.
pub fn signal(linux: u8) -> Option<i32> {
    signals::number(&signal::name(linux))
}

/// Linux' number for an error of this system. Those that no start and no signal can fail with here stay as they are.
#[cfg(target_os = "linux")]
pub fn error(here: i32) -> i32 {
    here
}

/// Linux' number for an error of this system. Those that no start and no signal can fail with here stay as they are.
#[cfg(target_os = "macos")]
pub fn error(here: i32) -> i32 {
    match here {
        libc::EAGAIN => 11,
        libc::ENAMETOOLONG => 36,
        libc::ENOSYS => 38,
        libc::ELOOP => 40,
        libc::ETIMEDOUT => 110,
        libc::EDQUOT => 122,
        // Another processor's, or none that can be loaded.
        libc::EBADEXEC | libc::EBADARCH | libc::ESHLIBVERS | libc::EBADMACHO => 8,
        here => here,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c20_signals_have_the_names_that_the_session_gives_them() {
        assert_eq!(signal_name(libc::SIGKILL), "SIGKILL");
        assert_eq!(signal_name(libc::SIGUSR1), "SIGUSR1");
        #[cfg(target_os = "linux")]
        for number in 1..=64 {
            assert_eq!(signal_name(number.into()), signal::name(number));
        }
    }

    #[test]
    fn c53_a_signal_of_the_session_is_this_systems_of_the_same_name() {
        for (name, here) in [("SIGINT", libc::SIGINT), ("SIGUSR1", libc::SIGUSR1), ("SIGCONT", libc::SIGCONT)] {
            assert_eq!(signal::number(name).and_then(signal), Some(here));
        }
    }

    #[test]
    fn c21_errors_have_linux_numbers() {
        for (here, linux) in [(libc::ENOENT, 2), (libc::EAGAIN, 11), (libc::ENAMETOOLONG, 36), (libc::ELOOP, 40)] {
            assert_eq!(error(here), linux);
        }
    }
}
