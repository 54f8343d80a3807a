//! Pipes of Linux: their size can be set.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::pipe::{PipeFlags, fcntl_getpipe_size, fcntl_setpipe_size, pipe_with};

use super::LARGE;

pub(super) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(pipe_with(PipeFlags::CLOEXEC)?)
}

/// Capacity of a pipe in bytes; `EBADF` for what is no pipe.
pub fn capacity(descriptor: impl AsFd) -> io::Result<usize> {
    Ok(fcntl_getpipe_size(descriptor)?)
}

/// What may be spent on enlarged pipes.
#[derive(Debug)]
pub struct Budget {
    limit: usize,
    spent: usize,
}

/// An enlargement of one pipe; give it back with [`Budget::shrink`] or [`Budget::forget`].
#[derive(Debug)]
#[must_use]
pub struct Grant {
    normal: usize,
    cost: usize,
}

impl Budget {
    /// A quarter of what the kernel grants a user, in bytes. Where it says "no limit" or nothing, 16 MiB.
    pub fn of_this_system() -> Self {
        let text = std::fs::read_to_string("/proc/sys/fs/pipe-user-pages-soft").unwrap_or_default();
        let pages: usize = text.trim().parse().unwrap_or(0);
        let limit = pages.saturating_mul(rustix::param::page_size()) / 4;
        Self { limit: if limit == 0 { 16 << 20 } else { limit }, spent: 0 }
    }

    /// A budget of `limit` bytes.
    pub fn of(limit: usize) -> Self {
        Self { limit, spent: 0 }
    }

    /// Bytes spent now.
    pub fn spent(&self) -> usize {
        self.spent
    }

    /// Enlarges a pipe to [`LARGE`]. `None` when the budget is spent, the kernel refuses (normal for a user at its own
    /// limit), or it is that large already.
    pub fn enlarge(&mut self, pipe: impl AsFd) -> Option<Grant> {
        let normal = fcntl_getpipe_size(&pipe).ok()?;
        let cost = LARGE.checked_sub(normal).filter(|&cost| cost > 0)?;
        if self.spent + cost > self.limit {
            return None;
        }
        fcntl_setpipe_size(&pipe, LARGE).ok()?;
        self.spent += cost;
        Some(Grant { normal, cost })
    }

    /// Gives the memory of an idle pipe back. Returns the grant when the pipe holds more than its normal size now.
    pub fn shrink(&mut self, pipe: impl AsFd, grant: Grant) -> Option<Grant> {
        match fcntl_setpipe_size(pipe, grant.normal) {
            Err(Errno::BUSY) => Some(grant),
            _ => {
                self.forget(grant);
                None
            }
        }
    }

    /// Accounts for a pipe that was closed.
    pub fn forget(&mut self, grant: Grant) {
        self.spent -= grant.cost;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipe::pair;

    #[test]
    fn a_pipe_is_enlarged_within_the_budget_and_shrunk_when_it_is_empty() {
        let (read, write) = pair().unwrap();
        let normal = capacity(&read).unwrap();
        let mut budget = Budget::of(LARGE);
        let grant = budget.enlarge(&read).unwrap();
        assert_eq!(capacity(&write).unwrap(), LARGE);
        let (other, _other_write) = pair().unwrap();
        assert!(budget.enlarge(&other).is_none(), "the budget is spent");
        rustix::io::write(&write, &vec![0; normal + 1]).unwrap();
        let grant = budget.shrink(&read, grant).unwrap();
        rustix::io::read(&read, &mut vec![0; LARGE]).unwrap();
        assert!(budget.shrink(&read, grant).is_none());
        assert_eq!((capacity(&read).unwrap(), budget.spent()), (normal, 0));
    }

    #[test]
    fn the_budget_of_the_system_is_a_quarter_of_its_soft_limit() {
        let pages: usize =
            std::fs::read_to_string("/proc/sys/fs/pipe-user-pages-soft").unwrap().trim().parse().unwrap();
        assert_eq!(Budget::of_this_system().limit, pages * rustix::param::page_size() / 4);
    }
}
