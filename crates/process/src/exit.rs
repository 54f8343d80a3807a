//! How a process ended: exact facts (C20).

use std::io;

use rustix::process::Pid;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(target_os = "linux")]
pub use linux::observe;
#[cfg(target_os = "macos")]
use macos as system;

/// The end of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It exited by itself with this code (0–255).
    Code(i32),
    /// A signal ended it.
    Signal {
        /// Number of the signal on this system.
        number: i32,
        /// Whether it dumped core.
        core: bool,
    },
}

/// Reaps child `pid` if it has ended; from then on its number may belong to anybody.
pub fn reap(pid: Pid) -> io::Result<Option<Exit>> {
    system::reap(pid)
}

/// Waits until child `pid` has ended and reaps it.
pub fn reap_blocking(pid: Pid) -> io::Result<Option<Exit>> {
    system::reap_blocking(pid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fixture;

    #[test]
    fn c20_every_exit_code_is_exact() {
        for code in [0, 1, 2, 126, 127, 128, 137, 143, 254, 255] {
            assert_eq!(Fixture::shell(&format!("exit {code}")).join(), Exit::Code(code));
        }
    }

    #[test]
    fn c20_a_death_by_signal_is_that_signal_and_no_exit_code() {
        let real_time: &[i32] = if cfg!(target_os = "linux") { &[34, 64] } else { &[] };
        for &number in [1, 2, 9, 15].iter().chain(real_time) {
            let exit = Fixture::shell(&format!("kill -{number} $$; sleep 60")).join();
            assert_eq!(exit, Exit::Signal { number, core: false });
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn an_observed_child_stays_and_is_observed_again_until_it_is_reaped() {
        let child = Fixture::shell("exit 9");
        child.wait_until_ended();
        assert_eq!(observe(child.pid).unwrap(), Some(Exit::Code(9)));
        assert_eq!(observe(child.pid).unwrap(), Some(Exit::Code(9)));
        assert_eq!(reap(child.pid).unwrap(), Some(Exit::Code(9)));
        assert_eq!(observe(child.pid).unwrap_err().raw_os_error(), Some(libc::ECHILD));
    }
}
