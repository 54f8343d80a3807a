//! What is told of a file.

use std::{collections::HashMap, fs, io, os::unix::fs::MetadataExt as _, path::Path};

use envd_api::filesystem::{EntryInfo, FileType};

use super::{metadata, permissions};
use crate::envd::{account, connect::Error, path};

/// Makes entries. Keeps the names of users and groups, which are looked up in files.
#[derive(Debug, Default)]
pub struct Entries {
    users: HashMap<u32, String>,
    groups: HashMap<u32, String>,
}

impl Entries {
    /// What is told of the file at a path. A link is not followed for size, time, owner and
    /// permissions, but type and mode are those of its target.
    ///
    /// # Errors
    /// `not_found`; `internal` for all else, also for a path below a file.
    pub fn entry(&mut self, path: &Path) -> Result<EntryInfo, Error> {
        let found = fs::symlink_metadata(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Error::not_found(format!("file not found: lstat {}: {error}", path.display())),
            _ => Error::internal(format!("error getting file info: lstat {}: {error}", path.display())),
        })?;
        // A link that leads nowhere is its own target, of no type.
        let target = found.is_symlink().then(|| fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf()));
        let mode = match &target {
            None => Some(found.mode()),
            Some(target) => fs::metadata(target).ok().map(|target| target.mode()),
        };
        let nanoseconds = i32::try_from(found.mtime_nsec()).unwrap_or_default();
        let modified = (found.mtime() != 0 || nanoseconds != 0)
            .then_some(pbjson_types::Timestamp { seconds: found.mtime(), nanos: nanoseconds });
        Ok(EntryInfo {
            name: path::base(path),
            r#type: mode.map_or(FileType::Unspecified, file_type).into(),
            path: path.to_string_lossy().into_owned(),
            size: i64::try_from(found.size()).unwrap_or(i64::MAX),
            mode: mode.unwrap_or_default() & 0o777,
            permissions: permissions::text(found.mode()),
            owner: self.users.entry(found.uid()).or_insert_with_key(|uid| account::user_name(*uid)).clone(),
            group: self.groups.entry(found.gid()).or_insert_with_key(|gid| account::group_name(*gid)).clone(),
            modified_time: modified,
            symlink_target: target.as_deref().map(text),
            metadata: metadata::read(path).into_iter().collect(),
        })
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn file_type(mode: u32) -> FileType {
    match mode & libc::S_IFMT {
        libc::S_IFREG => FileType::File,
        libc::S_IFDIR => FileType::Directory,
        libc::S_IFLNK => FileType::Symlink,
        _ => FileType::Unspecified,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::envd::connect::Code;

    #[test]
    fn a_link_has_the_type_of_its_target_and_permissions_of_its_own() {
        let directory = tempfile::tempdir().expect("tempdir");
        let root = directory.path().canonicalize().expect("real path");
        fs::write(root.join("file"), "12345").expect("write");
        symlink("file", root.join("link")).expect("link");
        symlink("gone", root.join("broken")).expect("link");
        let mut entries = Entries::default();
        let file = entries.entry(&root.join("file")).expect("file");
        assert_eq!((file.size, file.r#type(), file.symlink_target), (5, FileType::File, None));
        let link = entries.entry(&root.join("link")).expect("link");
        assert_eq!(link.r#type(), FileType::File);
        assert_eq!(link.symlink_target, Some(text(&root.join("file"))));
        assert!(link.permissions.starts_with('L'), "{}", link.permissions);
        let broken = entries.entry(&root.join("broken")).expect("broken");
        assert_eq!((broken.r#type(), broken.mode), (FileType::Unspecified, 0));
        assert_eq!(broken.symlink_target, Some(text(&root.join("broken"))));
    }

    #[test]
    fn a_path_below_a_file_is_internal_and_a_missing_one_not_found() {
        let directory = tempfile::tempdir().expect("tempdir");
        fs::write(directory.path().join("file"), "").expect("write");
        let mut entries = Entries::default();
        let mut code = |path: &str| entries.entry(&directory.path().join(path)).unwrap_err().code;
        assert_eq!(code("missing"), Code::NotFound);
        assert_eq!(code("file/below"), Code::Internal);
    }
}
