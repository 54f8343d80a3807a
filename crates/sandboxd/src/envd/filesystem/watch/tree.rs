//! Which watch descriptor of the kernel stands for which directory.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

/// The watched directories of one watch, the asked one first.
#[derive(Debug)]
pub struct Tree {
    root: PathBuf,
    paths: HashMap<i32, PathBuf>,
}

impl Tree {
    /// Nothing but the name of the asked directory.
    pub fn new(root: PathBuf) -> Self {
        Self { root, paths: HashMap::new() }
    }

    /// Notes a directory. The kernel gives one descriptor to one directory, so an old name goes.
    pub fn insert(&mut self, descriptor: i32, path: PathBuf) {
        self.paths.insert(descriptor, path);
    }

    /// The directory of a descriptor.
    pub fn path(&self, descriptor: i32) -> Option<&Path> {
        self.paths.get(&descriptor).map(PathBuf::as_path)
    }

    /// Whether this is the asked directory.
    pub fn is_root(&self, path: &Path) -> bool {
        path == self.root
    }

    /// Whether a directory is watched.
    pub fn contains(&self, path: &Path) -> bool {
        self.paths.values().any(|watched| watched == path)
    }

    /// Forgets a directory.
    pub fn remove(&mut self, descriptor: i32) {
        self.paths.remove(&descriptor);
    }

    /// Forgets all; gives the descriptors.
    pub fn clear(&mut self) -> Vec<i32> {
        self.paths.drain().map(|(descriptor, _)| descriptor).collect()
    }

    /// Renames a directory and all below it.
    pub fn rename(&mut self, from: &Path, to: &Path) {
        for path in self.paths.values_mut() {
            if let Ok(below) = path.strip_prefix(from) {
                *path = if below.as_os_str().is_empty() { to.to_path_buf() } else { to.join(below) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renaming_a_directory_renames_what_is_below_it_and_nothing_beside_it() {
        let mut tree = Tree::new("/r".into());
        for (descriptor, path) in [(1, "/r"), (2, "/r/a"), (3, "/r/a/b"), (4, "/r/ab")] {
            tree.insert(descriptor, path.into());
        }
        tree.rename(Path::new("/r/a"), Path::new("/r/c"));
        let paths: Vec<_> = (1..=4).map(|descriptor| tree.path(descriptor).expect("known")).collect();
        assert_eq!(paths, ["/r", "/r/c", "/r/c/b", "/r/ab"].map(Path::new));
    }
}
