//! The state directory.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;

use super::Error;

/// How temporary state directories begin.
const PREFIX: &str = "sandboxd-";

/// A state directory, held by a lock: a service that is killed leaves its directory, and the next one removes it.
#[derive(Debug)]
pub struct State {
    path: PathBuf,
    temporary: bool,
    lock: File,
}

impl State {
    /// Opens `given`, made if missing, or makes a temporary directory; clears what earlier services have left there.
    ///
    /// # Errors
    /// [`Error::StateInUse`], [`Error::Io`].
    pub fn open(given: Option<&Path>) -> Result<Self, Error> {
        let Some(path) = given else { return Self::temporary(&std::env::temp_dir()) };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        let lock = lock(path)?.ok_or_else(|| Error::StateInUse(path.to_owned()))?;
        clear(path)?;
        Ok(Self { path: path.to_owned(), temporary: false, lock })
    }

    fn temporary(parent: &Path) -> Result<Self, Error> {
        sweep(parent);
        loop {
            let path = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?.keep();
            match lock(&path) {
                Ok(Some(lock)) => return Ok(Self { path, temporary: true, lock }),
                // Another service that is sweeping just now took it for a left-over.
                Ok(None) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes everything in it, and the directory itself if it is temporary.
    pub async fn remove(self) {
        let removed = tokio::task::spawn_blocking(move || {
            let cleared = clear(&self.path);
            if self.temporary { fs::remove_dir_all(&self.path) } else { cleared }.map(|()| drop(self.lock))
        });
        if let Ok(Err(error)) = removed.await {
            tracing::warn!(%error, "cannot remove the state directory");
        }
    }
}

/// The lock of a state directory; `None` when somebody has it, or has just removed it.
fn lock(dir: &Path) -> io::Result<Option<File>> {
    let path = dir.join("lock");
    let file = File::options().create(true).truncate(false).write(true).open(&path)?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {
            let (held, there) = (file.metadata()?, fs::metadata(&path));
            Ok(there.is_ok_and(|there| (there.dev(), there.ino()) == (held.dev(), held.ino())).then_some(file))
        }
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Removes everything but the lock. Only what services make is in such a directory: boxes and their shared files.
fn clear(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() && (entry.file_name() == "shared" || entry.path().join("plan.json").exists()) {
            match fs::remove_dir_all(entry.path()) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
    }
    Ok(())
}

/// Removes directories of services that were killed. Best effort: they are in nobody's way.
fn sweep(dir: &Path) {
    let own = rustix::process::geteuid().as_raw();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        let ours = entry.file_name().to_string_lossy().starts_with(PREFIX)
            && fs::symlink_metadata(&path).is_ok_and(|facts| facts.is_dir() && facts.uid() == own)
            && path.join("lock").exists();
        // Held until it is removed: its owner may be about to lock it.
        if ours && let Ok(Some(_lock)) = lock(&path) {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed test may panic")]
    use super::*;

    #[test]
    fn services_that_start_at_once_leave_each_other_their_directories() {
        let parent = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let state = State::temporary(parent.path()).unwrap();
                        fs::create_dir(state.path().join("shared")).unwrap();
                        fs::write(state.path().join("shared/file"), "x").unwrap();
                        clear(state.path()).unwrap();
                        // As one that is killed: the next one removes it.
                        drop(state);
                    }
                });
            }
        });
        sweep(parent.path());
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }
}
