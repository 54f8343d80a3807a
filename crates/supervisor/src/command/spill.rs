//! One output's spill file, as the event loop sees it (C17).

use std::path::PathBuf;
use std::time::Duration;

use protocol::Time;
use protocol::control;

use crate::disk::{Disk, Job, Key};

/// Output up to this size is kept in memory before a file is begun, in bytes: most commands never need one.
const HELD: usize = 64 * 1024;
/// Bytes that may be on their way to the disk; then the stream waits for the disk, and only this one.
const PENDING: usize = 512 * 1024;
/// How often the host hears of progress.
const TELL: Duration = Duration::from_millis(100);

/// A spill file to be.
pub struct Spill {
    key: Key,
    path: PathBuf,
    tail: u64,
    cap: u64,
    taken: u64,
    held: Vec<u8>,
    begun: bool,
    lost: bool,
    /// The disk is to remove it.
    leaving: bool,
    pending: usize,
    complete: u64,
    told: u64,
    told_at: Time,
}

/// What the host is to hear.
#[derive(Debug, PartialEq, Eq)]
pub enum News {
    /// The file holds everything up to this offset.
    Complete(u64),
    /// The file is gone.
    Lost,
}

impl Spill {
    /// Nothing on disk yet.
    pub fn new(key: Key, path: PathBuf, wanted: &control::Spill) -> Self {
        Self {
            key,
            path,
            tail: wanted.tail,
            cap: wanted.cap,
            taken: 0,
            held: Vec::new(),
            begun: false,
            lost: false,
            leaving: false,
            pending: 0,
            complete: 0,
            told: 0,
            told_at: Time(0),
        }
    }

    /// Whether the disk has to catch up before more may be read.
    pub fn is_full(&self) -> bool {
        self.pending >= PENDING
    }

    /// Takes bytes of the stream; says when the file is lost by them.
    pub fn push(&mut self, bytes: &[u8], disk: &mut Disk) -> Option<News> {
        self.taken += bytes.len() as u64;
        if self.lost {
            return None;
        }
        if self.taken > self.cap {
            return Some(self.lose(disk));
        }
        self.held.extend_from_slice(bytes);
        if !self.begun && self.held.len() as u64 <= self.tail.min(HELD as u64) {
            return None;
        }
        self.begun = true;
        let bytes = std::mem::take(&mut self.held);
        self.pending += bytes.len();
        let job = Job::Write { key: self.key, path: self.path.clone(), cap: self.cap, bytes };
        if disk.submit(job) { None } else { Some(self.lose(disk)) }
    }

    fn lose(&mut self, disk: &mut Disk) -> News {
        self.lost = true;
        self.held = Vec::new();
        if self.begun {
            self.leaving = disk.submit(Job::Finish { key: self.key, keep: false });
        }
        News::Lost
    }

    /// The disk thread wrote `bytes`, and the file is complete up to there, or gone.
    pub fn wrote(&mut self, bytes: usize, complete: Option<u64>, now: Time, disk: &mut Disk) -> Option<News> {
        self.pending = self.pending.saturating_sub(bytes);
        if self.lost {
            return None;
        }
        match complete {
            None => Some(self.lose(disk)),
            Some(offset) => {
                self.complete = offset;
                self.news(now)
            }
        }
    }

    /// Progress, if it is time to tell.
    pub fn news(&mut self, now: Time) -> Option<News> {
        if self.told == self.complete || now < self.told_at + TELL {
            return None;
        }
        self.told = self.complete;
        self.told_at = now;
        Some(News::Complete(self.complete))
    }

    /// When there will be progress to tell.
    pub fn wakes(&self) -> Option<Time> {
        (self.told != self.complete && !self.lost).then_some(self.told_at + TELL)
    }

    /// The stream ended, whole or not. False when there is no file to wait for; one that was lost is waited for until it is removed.
    pub fn finish(&mut self, whole: bool, disk: &mut Disk) -> bool {
        if !self.begun || self.lost {
            return self.leaving;
        }
        let keep = whole && self.taken > self.tail;
        disk.submit(Job::Finish { key: self.key, keep })
    }

    /// The disk has ended the file.
    pub fn finished(&mut self) {
        self.leaving = false;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;

    #[test]
    fn c17_the_end_of_a_stream_over_its_cap_waits_until_its_file_is_removed() {
        let mut disk = Disk::new().unwrap();
        let path = std::env::temp_dir().join(format!("spill-over-{}", std::process::id())).join("1-stdout.log");
        let mut spill = Spill::new((1, 0), path, &control::Spill { tail: 1, cap: 10 });
        assert_eq!(spill.push(b"12345", &mut disk), None);
        assert_eq!(spill.push(b"67890a", &mut disk), Some(News::Lost));
        assert!(spill.finish(true, &mut disk));
        spill.finished();
        assert!(!spill.finish(true, &mut disk));
        let directory = spill.path.parent().unwrap();
        while std::fs::remove_dir(directory).is_err() {
            std::thread::yield_now();
        }
    }
}
