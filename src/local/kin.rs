//! Descendants of a terminal's program that left its session (C72): found by their parents while these live, then held by
//! identity.

use std::{
    collections::{HashMap, HashSet},
    io,
    sync::{Mutex, MutexGuard, PoisonError},
};

use process::{
    Pid,
    pidfd::PidFd,
    table::{self, Snapshot},
    terminate::Denied,
};

/// The known ones, by number and start time.
#[derive(Debug, Default)]
pub struct Kin {
    known: Mutex<HashMap<(i32, u64), PidFd>>,
}

impl Kin {
    fn lock(&self) -> MutexGuard<'_, HashMap<(i32, u64), PidFd>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks for new ones, below `leader` (if that was not reaped) and below the known ones that live. Blocks for a pass over `/proc`.
    ///
    /// # Errors
    /// When `/proc` can't be read.
    pub fn look(&self, session: Pid, leader: Option<Pid>) -> io::Result<()> {
        let snapshot = table::snapshot()?;
        let mut known = self.lock();
        known.retain(|_, member| member.is_alive());
        let roots = known.keys().map(|&(pid, _)| pid).chain(leader.map(Pid::as_raw_pid));
        for pid in descendants(&snapshot, roots.collect()) {
            if let Some((identity, member)) = hold(pid, session) {
                known.entry(identity).or_insert(member);
            }
        }
        Ok(())
    }

    /// Sends signals to those that live, and gives those that are not ours to signal.
    pub fn signal(&self, signals: &[i32]) -> Vec<Denied> {
        let known = self.lock();
        let denies = |member: &PidFd| {
            signals
                .iter()
                .any(|&signal| member.send(signal).is_err_and(|error| error.raw_os_error() == Some(libc::EPERM)))
        };
        let denied = known.iter().filter(|(_, member)| denies(member)).map(|(&(pid, start_time), _)| {
            let uid = Pid::from_raw(pid).and_then(|pid| table::user(pid).ok()).unwrap_or(u32::MAX);
            Denied { pid, uid, start_time }
        });
        denied.collect()
    }

    /// How many live.
    pub fn living(&self) -> usize {
        let mut known = self.lock();
        known.retain(|_, member| member.is_alive());
        known.len()
    }
}

/// Everybody below `roots`, without them.
fn descendants(snapshot: &Snapshot, roots: HashSet<i32>) -> Vec<i32> {
    let mut below = roots.clone();
    loop {
        let before = below.len();
        below.extend(
            snapshot
                .processes
                .iter()
                .filter(|stat| below.contains(&stat.parent))
                .map(|stat| stat.pid)
                .collect::<Vec<_>>(),
        );
        if below.len() == before {
            return below.difference(&roots).copied().collect();
        }
    }
}

/// Its identity, opened before its facts were read again; `None` for members of the session itself, which are found there.
fn hold(pid: i32, session: Pid) -> Option<((i32, u64), PidFd)> {
    let pid = Pid::from_raw(pid)?;
    let member = PidFd::open(pid).ok()?;
    let stat = table::stat(pid).ok()?;
    let elsewhere = stat.session != session.as_raw_pid();
    (elsewhere && member.is_alive()).then_some(((stat.pid, stat.start_time), member))
}
