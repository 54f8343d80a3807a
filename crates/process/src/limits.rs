//! Limits and scores of this process itself.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::process::{DumpableBehavior, Resource, Rlimit};

/// Raises the soft limit of open files to the hard one; gives the (soft, hard) limit from before, for children.
///
/// "Unlimited" is `u64::MAX`.
pub fn raise_open_files() -> io::Result<(u64, u64)> {
    let before = rustix::process::getrlimit(Resource::Nofile);
    rustix::process::setrlimit(Resource::Nofile, Rlimit { current: before.maximum, maximum: before.maximum })?;
    Ok((before.current.unwrap_or(u64::MAX), before.maximum.unwrap_or(u64::MAX)))
}

/// This process' `oom_score_adj`, from -1000 to 1000.
pub fn oom_score_adj() -> io::Result<i16> {
    let text = std::fs::read_to_string("/proc/self/oom_score_adj")?;
    text.trim().parse().map_err(|_| io::Error::from(io::ErrorKind::InvalidData))
}

/// Sets this process' `oom_score_adj`; `EACCES` below what its user may set.
pub fn set_oom_score_adj(score: i16) -> io::Result<()> {
    std::fs::write("/proc/self/oom_score_adj", score.to_string())
}

/// Closes this process' `/proc` files and memory to others of its user.
pub fn become_undumpable() -> io::Result<()> {
    Ok(rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

/// Closes every descriptor ≥ 3 but `kept`, close-on-exec or not. Owners of those descriptors must not use them again.
pub fn close_all_but(kept: BorrowedFd<'_>) {
    let kept = kept.as_raw_fd();
    if kept > 3 {
        crate::child::close_between(3, kept - 1);
    }
    crate::child::close_from(kept.max(2) + 1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raising_gives_the_limits_from_before() {
        let (soft, hard) = raise_open_files().unwrap();
        assert!(soft <= hard);
        assert_eq!(raise_open_files().unwrap(), (hard, hard));
    }
}
