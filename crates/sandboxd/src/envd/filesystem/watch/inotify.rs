//! From the kernel's events to changes, by the rules of the library that the real daemon uses.

use std::{
    collections::VecDeque,
    ffi::OsStr,
    fs, io,
    mem::MaybeUninit,
    os::{
        fd::{AsFd as _, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt as _,
    },
    path::{Path, PathBuf},
    sync::Arc,
};

use envd_api::filesystem::EventType;
use rustix::{
    fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags},
    io::Errno,
};
use tokio::io::{Interest, unix::AsyncFd};

use super::tree::Tree;
use crate::envd::polled::polled;

/// How many halves of renames are remembered to join them with their other half.
const REMEMBERED_MOVES: usize = 10;
/// Room for about 4000 short events.
const BUFFER: usize = 64 << 10;

/// One or more things that happened to one path at once.
#[derive(Debug)]
pub struct Change {
    /// Absolute.
    pub path: PathBuf,
    /// In the order in which they are told.
    pub types: Vec<EventType>,
}

/// A kernel queue and what it watches.
#[derive(Debug)]
pub struct Inotify {
    fd: Arc<AsyncFd<OwnedFd>>,
    tree: Tree,
    recursive: bool,
    moves: VecDeque<(u32, PathBuf)>,
}

/// Tells when a queue may have something.
#[derive(Debug)]
pub struct Readable(Arc<AsyncFd<OwnedFd>>);

impl Readable {
    /// Waits until there is something to read that nobody has read yet; may be early.
    pub async fn wait(&self) {
        if let Ok(mut ready) = self.0.readable().await {
            // Whoever waits reads to the end then.
            ready.clear_ready();
        }
    }
}

/// Something that was there before its directory was watched.
struct Found {
    path: PathBuf,
    has_content: bool,
}

impl Found {
    /// What must have happened to it.
    fn types(&self, is_made: bool) -> Vec<EventType> {
        if is_made && self.has_content { vec![EventType::Create, EventType::Write] } else { vec![EventType::Create] }
    }
}

struct Raw {
    descriptor: i32,
    flags: ReadFlags,
    cookie: u32,
    name: Option<PathBuf>,
}

impl Inotify {
    /// Watches a directory, and all below it if recursive.
    ///
    /// # Errors
    /// The system's.
    pub fn arm(directory: &Path, recursive: bool) -> io::Result<(Self, Readable)> {
        let fd = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let fd = Arc::new(polled(fd, Interest::READABLE)?);
        let readable = Readable(fd.clone());
        let mut inotify = Self { fd, tree: Tree::new(directory.into()), recursive, moves: VecDeque::new() };
        inotify.add(directory)?;
        if recursive {
            inotify.add_below(directory);
        }
        Ok((inotify, readable))
    }

    /// What happened since the last call. Empty when nothing is left.
    ///
    /// # Errors
    /// The system's; an overflow of the kernel's queue.
    pub fn read(&mut self) -> io::Result<Vec<Change>> {
        let mut changes = Vec::new();
        let mut handled = false;
        for raw in self.read_raw()? {
            handled = true;
            if raw.flags.contains(ReadFlags::QUEUE_OVERFLOW) {
                return Err(io::Error::other("queue or buffer overflow"));
            }
            self.handle(&raw, &mut changes);
        }
        // Events without a change must not look like the end.
        if handled && changes.is_empty() { self.read() } else { Ok(changes) }
    }

    fn read_raw(&self) -> io::Result<Vec<Raw>> {
        let mut buffer = [MaybeUninit::uninit(); BUFFER];
        let mut reader = Reader::new(self.raw_fd(), &mut buffer);
        let mut events = Vec::new();
        loop {
            match reader.next() {
                Ok(event) => events.push(Raw {
                    descriptor: event.wd(),
                    flags: event.events(),
                    cookie: event.cookie(),
                    name: event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()).into()),
                }),
                Err(Errno::AGAIN) => return Ok(events),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            if reader.is_buffer_empty() {
                return Ok(events);
            }
        }
    }

    fn handle(&mut self, raw: &Raw, changes: &mut Vec<Change>) {
        let Some(directory) = self.tree.path(raw.descriptor).map(Path::to_path_buf) else { return };
        let flags = raw.flags;
        if flags.intersects(ReadFlags::IGNORED | ReadFlags::UNMOUNT) {
            self.tree.remove(raw.descriptor);
            return;
        }
        if flags.contains(ReadFlags::DELETE_SELF) {
            self.tree.remove(raw.descriptor);
            // The directory above tells it already.
            if directory.parent().is_some_and(|parent| self.tree.contains(parent)) {
                return;
            }
        }
        if flags.contains(ReadFlags::MOVE_SELF) {
            if !self.tree.is_root(&directory) {
                return;
            }
            // Where it is now isn't known, so neither are the names of what happens in it.
            for descriptor in self.tree.clear() {
                // One that is gone already needs no removal.
                let _ = inotify::remove_watch(self.raw_fd(), descriptor);
            }
        }
        let path = match &raw.name {
            Some(name) => directory.join(name),
            None => directory,
        };
        let types = types(flags);
        let is_new = types.contains(&EventType::Create);
        changes.push(Change { path: path.clone(), types });
        let moved_from = self.pair_moves(raw, &path);
        if self.recursive && is_new && flags.contains(ReadFlags::ISDIR) {
            if let Some(from) = moved_from {
                // Its directories are watched all along; only their names are new.
                self.tree.rename(&from, &path);
                return;
            }
            // It may have been removed again.
            let _ = self.add(&path);
            let is_made = flags.contains(ReadFlags::CREATE);
            for found in self.add_below(&path) {
                // What came along with a directory that was moved here wasn't written now.
                let types = found.types(is_made);
                changes.push(Change { path: found.path, types });
            }
        }
    }

    /// For the second half of a rename: the old name.
    fn pair_moves(&mut self, raw: &Raw, path: &Path) -> Option<PathBuf> {
        if raw.flags.contains(ReadFlags::MOVED_FROM) {
            if self.moves.len() == REMEMBERED_MOVES {
                self.moves.pop_front();
            }
            self.moves.push_back((raw.cookie, path.into()));
        }
        if !raw.flags.contains(ReadFlags::MOVED_TO) {
            return None;
        }
        let index = self.moves.iter().position(|(cookie, _)| *cookie == raw.cookie)?;
        self.moves.remove(index).map(|(_, from)| from)
    }

    fn add(&mut self, directory: &Path) -> io::Result<()> {
        let flags = WatchFlags::CREATE
            | WatchFlags::MODIFY
            | WatchFlags::ATTRIB
            | WatchFlags::DELETE
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE;
        let descriptor = inotify::add_watch(self.raw_fd(), directory, flags | WatchFlags::MOVE_SELF)?;
        self.tree.insert(descriptor, directory.into());
        Ok(())
    }

    /// Watches all directories below one. Gives what is in them: it was made before the
    /// kernel was told to look.
    fn add_below(&mut self, directory: &Path) -> Vec<Found> {
        let mut found = Vec::new();
        let mut unread = vec![directory.to_path_buf()];
        while let Some(directory) = unread.pop() {
            // It may have been removed, or be unreadable, which is passed over.
            let Ok(entries) = fs::read_dir(&directory) else { continue };
            for entry in entries.flatten() {
                let path = entry.path();
                let Ok(kind) = entry.file_type() else { continue };
                if kind.is_dir() {
                    let _ = self.add(&path);
                    unread.push(path.clone());
                }
                let has_content = kind.is_file() && entry.metadata().is_ok_and(|found| found.len() > 0);
                found.push(Found { path, has_content });
            }
        }
        found
    }

    fn raw_fd(&self) -> BorrowedFd<'_> {
        self.fd.get_ref().as_fd()
    }
}

fn types(flags: ReadFlags) -> Vec<EventType> {
    let table = [
        (ReadFlags::CREATE | ReadFlags::MOVED_TO, EventType::Create),
        (ReadFlags::MOVED_FROM | ReadFlags::MOVE_SELF, EventType::Rename),
        (ReadFlags::ATTRIB, EventType::Chmod),
        (ReadFlags::MODIFY, EventType::Write),
        (ReadFlags::DELETE | ReadFlags::DELETE_SELF, EventType::Remove),
    ];
    table.into_iter().filter(|(mask, _)| flags.intersects(*mask)).map(|(_, r#type)| r#type).collect()
}
