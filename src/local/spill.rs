//! Spill files of collected outputs (C17, D25).

use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use process::spill::{State, Writer};

static FILES: AtomicU64 = AtomicU64::new(0);
/// The private directory of this process, once there is one.
static PRIVATE: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Where spill files go.
#[derive(Clone, Debug)]
pub enum Place {
    /// Into this directory.
    Directory(PathBuf),
    /// Into a private one below this directory of temporary files, made when first needed.
    Private(PathBuf),
}

impl Place {
    /// Makes a file of this name here.
    fn create(&self, name: &str, cap: u64) -> io::Result<(Writer, PathBuf)> {
        let below = match self {
            Self::Directory(directory) => return create(directory, name, cap),
            Self::Private(below) => below,
        };
        let mut private = PRIVATE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(directory) = &*private {
            match create(directory, name, cap) {
                // Somebody cleaned the directory of temporary files.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                result => return result,
            }
        }
        let directory = below.join(format!("dsh-subprocess-{}", random()?));
        process::spill::private_directory(&directory)?;
        create(private.insert(directory), name, cap)
    }
}

fn create(directory: &Path, name: &str, cap: u64) -> io::Result<(Writer, PathBuf)> {
    let path = directory.join(name);
    // A harness that was killed has nobody who would look for what it did not finish.
    Ok((Writer::create_unmarked(path.clone(), cap)?, path))
}

fn random() -> io::Result<String> {
    let mut bytes = [0; 6];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// One stream's spill file, or what may become one.
#[derive(Debug)]
pub struct Spill {
    place: Place,
    label: &'static str,
    cap: u64,
    file: File,
}

#[derive(Debug)]
enum File {
    NotBegun,
    Open(Writer),
    Lost,
}

impl Spill {
    /// Nothing on disk yet. `label` names the stream in the file's name; the file may hold `cap` bytes.
    pub fn new(place: Place, label: &'static str, cap: u64) -> Self {
        Self { place, label, cap, file: File::NotBegun }
    }

    /// Whether there is a file.
    pub fn is_open(&self) -> bool {
        matches!(self.file, File::Open(_))
    }

    /// Whether there may be a file yet.
    pub fn is_lost(&self) -> bool {
        matches!(self.file, File::Lost)
    }

    /// Makes the file and gives its path; `None` when that failed, and then there is none for ever.
    pub fn begin(&mut self) -> Option<PathBuf> {
        let created = self.create();
        let (file, path) = created.map_or((File::Lost, None), |(writer, path)| (File::Open(writer), Some(path)));
        self.file = file;
        path
    }

    fn create(&self) -> io::Result<(Writer, PathBuf)> {
        let number = FILES.fetch_add(1, Ordering::Relaxed) + 1;
        let name = format!("dsh-subprocess-{}-{number}-{}-{}.log", std::process::id(), random()?, self.label);
        self.place.create(&name, self.cap)
    }

    /// Appends; false when there is no file (any more).
    pub fn write(&mut self, bytes: &[u8]) -> bool {
        let File::Open(writer) = &mut self.file else { return false };
        writer.write(bytes);
        if writer.state() != State::Complete {
            self.file = File::Lost;
        }
        self.is_open()
    }

    /// There shall be none.
    pub fn lose(&mut self) {
        self.file = File::Lost;
    }

    /// Ends it, and says whether a file is left: only one that was wanted, begun and is complete.
    pub fn finish(self, keep: bool) -> bool {
        match self.file {
            File::Open(writer) => writer.finish(keep),
            File::NotBegun | File::Lost => false,
        }
    }

    /// Bytes that the file may hold.
    pub fn cap(&self) -> u64 {
        self.cap
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed test may panic")]
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn d25_a_file_has_a_random_name_in_a_private_directory_and_is_the_owners() {
        let mut spill = Spill::new(Place::Private(std::env::temp_dir()), "stdout", 10);
        let path = spill.begin().unwrap();
        let directory = path.parent().unwrap();
        assert!(directory.file_name().unwrap().to_string_lossy().starts_with("dsh-subprocess-"));
        assert_eq!(directory.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o7777, 0o600);
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let parts: Vec<&str> = name.split('-').collect();
        assert_eq!((parts.len(), parts[4].len(), parts[5]), (6, 12, "stdout.log"), "{name}");
        assert!(spill.write(b"0123456789"));
        assert!(!spill.write(b"0"));
        assert!(!path.exists());
        assert!(!spill.finish(true));
    }

    #[test]
    fn c17_a_directory_that_does_not_exist_costs_the_file_only() {
        let mut spill = Spill::new(Place::Directory("/nonexistent/dir".into()), "stderr", 10);
        assert_eq!(spill.begin(), None);
        assert!(spill.is_lost());
        assert!(!spill.finish(true));
    }
}
