//! A mark that a program and everything that descends from it carry: how they are known when nobody who saw them start is left.
//!
//! The mark is a soft limit, that of the time which a process under a real-time policy may run without a pause. It is inherited
//! by every fork and exec, stays in another session and under another user, and everybody can read it. At more than 100,000
//! years it limits nobody, and the hard limit stays as it was.

use std::io;

use rustix::process::{Pid, Resource};

/// Smallest value that is a mark, in microseconds; what is below it is somebody's real limit.
const LEAST: u64 = 1 << 62;

/// The mark of all programs of one keeper's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mark(u64);

impl Mark {
    /// The mark of the life with this random number.
    pub fn of(life: u64) -> Self {
        Self(LEAST | (life >> 2))
    }

    /// Whether children of this process can carry it: the limit is free, or has the mark of somebody further out.
    pub fn is_possible(self) -> bool {
        let limit = rustix::process::getrlimit(Resource::Rttime);
        limit.current.is_none_or(|soft| soft >= LEAST) && limit.maximum.is_none_or(|hard| hard >= self.0)
    }

    /// The mark of process `pid`; `None` when it has none.
    pub fn read(pid: Pid) -> io::Result<Option<Self>> {
        let text = std::fs::read_to_string(format!("/proc/{}/limits", pid.as_raw_pid()))?;
        let limits = text.lines().find_map(|line| line.strip_prefix("Max realtime timeout"));
        let soft = limits.and_then(|limits| limits.split_ascii_whitespace().next()?.parse().ok());
        Ok(soft.filter(|&soft| soft >= LEAST).map(Self))
    }

    /// Puts it on this process. Async-signal-safe; where the kernel refuses it, there is none.
    pub(crate) fn put_on(self) {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: both take a number and a struct of ours; plain system calls, async-signal-safe.
        unsafe {
            if libc::getrlimit(libc::RLIMIT_RTTIME, &raw mut limit) == 0 {
                limit.rlim_cur = self.0;
                libc::setrlimit(libc::RLIMIT_RTTIME, &raw const limit);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prepared::Prepared;
    use crate::{Settings, table};
    use std::os::fd::AsFd;

    #[test]
    fn c34_a_mark_stays_on_children_that_leave_their_session_and_nobody_else_has_it() {
        let mark = Mark::of(0x0123_4567_89ab_cdef);
        assert!(mark.is_possible());
        let settings = Settings { mark: Some(mark), ..Settings::default() };
        let prepared = Prepared::fork(&settings).unwrap();
        let program = crate::testing::image(
            &["/bin/sh", "-c", "setsid sleep 60.125 & wait"],
            &crate::environment::Environment::of_this_process(),
            None,
        );
        let null = crate::stdio::null().unwrap();
        let starting = prepared.start(&program, [null.as_fd(); 3], false).unwrap();
        let mut escaped = None;
        crate::testing::wait_for("an escapee", || {
            let processes = table::snapshot().unwrap().processes;
            escaped = processes.into_iter().find(|stat| {
                stat.name == b"sleep" && stat.parent == starting.pid.as_raw_pid() && stat.session == stat.pid
            });
            escaped.is_some()
        });
        let escaped = Pid::from_raw(escaped.unwrap().pid).unwrap();
        assert_eq!(Mark::read(escaped).unwrap(), Some(mark));
        assert_eq!(Mark::read(starting.pid).unwrap(), Some(mark));
        assert_ne!(Mark::read(rustix::process::getpid()).unwrap(), Some(mark));
        for pid in [escaped, starting.pid] {
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        }
        crate::exit::reap_blocking(starting.pid).unwrap();
    }

    #[test]
    fn lives_that_differ_have_marks_that_differ_and_no_mark_is_no_limit_at_all() {
        assert_ne!(Mark::of(u64::MAX), Mark::of(u64::MAX >> 1));
        assert_ne!(Mark::of(u64::MAX).0, libc::RLIM_INFINITY);
        assert!(Mark::of(1).0 >= LEAST);
    }
}
