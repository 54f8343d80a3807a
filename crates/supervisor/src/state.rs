//! What the resident leaves on disk while it lives, and its removal (C64).

use std::io;
use std::path::{Path, PathBuf};

use crate::socket;

/// The directory of spill files of one epoch, made when the first one is.
pub fn spill_directory(root: &Path, epoch: u64) -> PathBuf {
    root.join(format!("spill-{epoch:016x}"))
}

/// Removes what killed residents did not finish writing, in every spill directory of the current directory, the runtime root. To
/// be called when no resident lives.
pub fn remove_unfinished() {
    for entry in std::fs::read_dir(".").into_iter().flatten().flatten() {
        let is_spill = entry.file_name().to_str().is_some_and(|name| name.starts_with("spill-"));
        if is_spill && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_unfinished_in(&entry.path());
        }
    }
}

/// The same for one spill directory, which goes with its last file.
pub fn remove_unfinished_in(spill: &Path) {
    let _ = process::spill::remove_unfinished(spill);
    let _ = std::fs::remove_dir(spill);
}

/// Removes the door, unfinished spill files, and, as far as they are empty, the spill directory and the runtime root; valid spill
/// files stay.
///
/// Works in the current directory, the runtime root. To be called while the listener is still open: as long as it is,
/// joiners get through to it and nobody puts another door in its place. A door that had to stay, since somebody else held the lock, is
/// one that nobody listens at: the next joiner puts another one there.
pub fn remove(root: &Path, spill: &Path) -> io::Result<()> {
    remove_unfinished_in(spill);
    let _lock = socket::lock_soon()?;
    std::fs::remove_file(socket::NAME)?;
    // A joiner that is in it already fails and is started again by its host, which makes it anew.
    let _ = std::fs::remove_dir(root);
    Ok(())
}
