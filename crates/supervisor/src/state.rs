//! What the resident leaves on disk while it lives, and its removal (C64).

use std::io;
use std::path::{Path, PathBuf};

use crate::socket;

/// The directory of spill files of one epoch, made when the first one is.
pub fn spill_directory(root: &Path, epoch: u64) -> PathBuf {
    root.join(format!("spill-{epoch:016x}"))
}

/// Removes the door and, as far as they are empty, the spill directory and the runtime root; valid spill files stay.
///
/// Works in the current directory, the runtime root. To be called while the listener is still open: as long as it is,
/// joiners get through to it and nobody puts another door in its place.
pub fn remove(root: &Path, spill: &Path) -> io::Result<()> {
    let _lock = socket::lock()?;
    let _ = std::fs::remove_dir(spill);
    std::fs::remove_file(socket::NAME)?;
    // A joiner that is in it already fails and is started again by its host, which makes it anew.
    let _ = std::fs::remove_dir(root);
    Ok(())
}
