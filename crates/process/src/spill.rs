//! Spill files: a stream's whole output on disk, up to a cap (C17).
//!
//! Writes block, so a writer belongs on a thread of its own.
//!
//! Where somebody looks for what a killed writer left, a file that is not finished has its sticky bit set, which means nothing on a
//! file: so it is told from what is whole.

use std::fs::Permissions;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Makes the private directory for spill files, mode 0700, or takes an existing one that is ours, a real directory, and
/// closed to everybody else.
pub fn private_directory(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let metadata = std::fs::symlink_metadata(path)?;
    let ours = metadata.uid() == rustix::process::geteuid().as_raw();
    if !metadata.is_dir() || !ours || metadata.mode() & 0o077 != 0 {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "not a private directory of this user"));
    }
    Ok(())
}

/// Mode of a file that is being written, and of one that is whole.
const UNFINISHED: u32 = 0o1600;
const FINISHED: u32 = 0o600;

/// Removes the files in `directory` that a killed writer did not finish; whole ones stay.
pub fn remove_unfinished(directory: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        // Of the entry itself: a link is nothing of ours.
        let metadata = entry.metadata()?;
        if metadata.is_file() && metadata.mode() & 0o7777 == UNFINISHED {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// What a spill file is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It holds every byte that was given so far.
    Complete,
    /// The stream went over the cap; the file is gone.
    OverCap,
    /// A write failed (a full disk, for example); the file is gone.
    Failed,
}

/// Writes one stream's spill file.
#[derive(Debug)]
pub struct Writer {
    path: PathBuf,
    file: Option<File>,
    cap: u64,
    written: u64,
    state: State,
}

impl Writer {
    /// A new file at `path` (for its owner only, must not exist) that may hold `cap` bytes. While it is not finished
    /// [`remove_unfinished`] takes it.
    pub fn create(path: PathBuf, cap: u64) -> io::Result<Self> {
        Self::with_mode(path, cap, UNFINISHED)
    }

    /// The same where nobody looks for unfinished files: it has its final mode at once.
    pub fn create_unmarked(path: PathBuf, cap: u64) -> io::Result<Self> {
        Self::with_mode(path, cap, FINISHED)
    }

    fn with_mode(path: PathBuf, cap: u64, mode: u32) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&path)?;
        Ok(Self { path, file: Some(file), cap, written: 0, state: State::Complete })
    }

    /// Appends. Over the cap or after a failed write the file is removed and everything further is dropped.
    pub fn write(&mut self, bytes: &[u8]) {
        let Some(file) = &mut self.file else { return };
        let total = self.written + bytes.len() as u64;
        if total > self.cap {
            self.remove(State::OverCap);
        } else if file.write_all(bytes).is_err() {
            self.remove(State::Failed);
        } else {
            self.written = total;
        }
    }

    /// Whether the file holds everything so far.
    pub fn state(&self) -> State {
        self.state
    }

    /// Bytes in the file.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Ends the file: `keep` leaves a complete one where it is, anything else is removed. Says whether a file is left.
    pub fn finish(mut self, keep: bool) -> bool {
        if keep && self.state == State::Complete {
            let whole = |file: File| file.set_permissions(Permissions::from_mode(FINISHED)).is_ok();
            if self.file.take().is_some_and(whole) {
                return true;
            }
        }
        self.remove(self.state);
        false
    }

    fn remove(&mut self, state: State) {
        self.state = state;
        if self.file.take().is_some() {
            // Gone already is as good.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.remove(self.state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::scratch;

    #[test]
    fn c17_a_stream_of_exactly_the_cap_is_kept_and_private() {
        let path = scratch("spill-cap").join("a.log");
        let mut writer = Writer::create(path.clone(), 6).unwrap();
        writer.write(b"abc");
        writer.write(b"def");
        assert_eq!((writer.state(), writer.written()), (State::Complete, 6));
        assert!(writer.finish(true));
        assert_eq!(std::fs::read(&path).unwrap(), b"abcdef");
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn c17_what_a_killed_writer_left_is_removed_and_whole_files_stay() {
        let directory = scratch("spill-killed");
        let mut whole = Writer::create(directory.join("whole.log"), 5).unwrap();
        whole.write(b"abc");
        assert!(whole.finish(true));
        let mut killed = Writer::create(directory.join("killed.log"), 5).unwrap();
        killed.write(b"abc");
        // As a killed process does: nothing.
        std::mem::forget(killed);
        std::fs::write(directory.join("foreign"), b"x").unwrap();
        remove_unfinished(&directory).unwrap();
        let mut left: Vec<_> = std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["foreign", "whole.log"]);
        assert_eq!(std::fs::metadata(directory.join("whole.log")).unwrap().mode() & 0o7777, 0o600);
    }

    #[test]
    fn d25_an_unmarked_file_has_its_final_mode_from_its_beginning() {
        let directory = scratch("spill-unmarked");
        let path = directory.join("a.log");
        let mut writer = Writer::create_unmarked(path.clone(), 5).unwrap();
        writer.write(b"abc");
        let mode = || std::fs::metadata(&path).unwrap().mode() & 0o7777;
        assert_eq!(mode(), 0o600);
        remove_unfinished(&directory).unwrap();
        assert!(writer.finish(true));
        assert_eq!(mode(), 0o600);
    }

    #[test]
    fn c17_a_stream_over_its_cap_loses_its_file_at_once() {
        let path = scratch("spill-over").join("a.log");
        let mut writer = Writer::create(path.clone(), 5).unwrap();
        writer.write(b"abc");
        writer.write(b"def");
        assert_eq!(writer.state(), State::OverCap);
        assert!(!path.exists());
        writer.write(b"g");
        assert!(!writer.finish(true));
    }

    #[test]
    fn c17_a_file_that_nobody_needs_is_removed() {
        let directory = scratch("spill-unneeded");
        let writer = Writer::create(directory.join("a.log"), 5).unwrap();
        assert!(!writer.finish(false));
        drop(Writer::create(directory.join("b.log"), 5).unwrap());
        assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 0);
    }

    #[test]
    fn c17_a_write_that_fails_withholds_the_file() {
        let path = scratch("spill-full").join("a.log");
        let mut writer = Writer::create(path.clone(), 5).unwrap();
        // A device that is always full, in place of a full disk.
        writer.file = Some(OpenOptions::new().write(true).open("/dev/full").unwrap());
        writer.write(b"abc");
        assert_eq!(writer.state(), State::Failed);
        assert!(!path.exists());
    }

    #[test]
    fn the_private_directory_must_be_a_real_one_of_ours() {
        let root = scratch("spill-directory");
        private_directory(&root.join("new")).unwrap();
        private_directory(&root.join("new")).unwrap();
        assert_eq!(std::fs::metadata(root.join("new")).unwrap().mode() & 0o777, 0o700);
        std::os::unix::fs::symlink(root.join("new"), root.join("link")).unwrap();
        private_directory(&root.join("link")).unwrap_err();
        private_directory(&root).unwrap_err();
    }
}
