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
        let Some(path) = given else { return Self::temporary() };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        let lock = lock(path)?.ok_or_else(|| Error::StateInUse(path.to_owned()))?;
        clear(path)?;
        Ok(Self { path: path.to_owned(), temporary: false, lock })
    }

    fn temporary() -> Result<Self, Error> {
        sweep(&std::env::temp_dir());
        loop {
            let path = tempfile::Builder::new().prefix(PREFIX).tempdir()?.keep();
            // Another service that is sweeping just now may have taken it for a left-over.
            if let Some(lock) = lock(&path)? {
                return Ok(Self { path, temporary: true, lock });
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

/// The lock of a state directory; `None` when somebody has it.
fn lock(dir: &Path) -> io::Result<Option<File>> {
    let file = File::options().create(true).truncate(false).write(true).open(dir.join("lock"))?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
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
        if ours && matches!(lock(&path), Ok(Some(_))) {
            let _ = fs::remove_dir_all(&path);
        }
    }
}
