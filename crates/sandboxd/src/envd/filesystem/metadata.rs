//! Metadata of files: extended attributes `user.e2b.<key>`.

use std::{collections::BTreeMap, fs::File, io, path::Path};

use rustix::{
    fs::{XattrFlags, flistxattr, fremovexattr, fsetxattr, getxattr, listxattr},
    io::Errno,
};

/// Before each key in an attribute's name.
pub const PREFIX: &str = "user.e2b.";

/// The kernel's limit for the names of all attributes of a file, and for one value.
const LARGEST: usize = 64 << 10;

/// The metadata of a file, of a link's target for a link. Empty when there is none or it can't be had.
/// What isn't UTF-8 is left out, as anyone in the sandbox can set attributes.
pub fn read(path: &Path) -> BTreeMap<String, String> {
    let mut names = vec![0; 1024];
    let length = loop {
        match listxattr(path, &mut names[..]) {
            Ok(length) => break length,
            Err(Errno::RANGE) if names.len() < LARGEST => names.resize(LARGEST, 0),
            Err(_) => return BTreeMap::new(),
        }
    };
    keys(&names[..length])
        .filter_map(|key| {
            let mut value = vec![0; LARGEST];
            let length = getxattr(path, format!("{PREFIX}{key}"), &mut value[..]).ok()?;
            value.truncate(length);
            Some((key.to_owned(), String::from_utf8(value).ok()?))
        })
        .collect()
}

/// Makes this the whole metadata of a file.
///
/// # Errors
/// The system's; see [`is_unsupported`].
pub fn replace(file: &File, metadata: &BTreeMap<String, String>) -> io::Result<()> {
    let mut names = vec![0; LARGEST];
    let length = flistxattr(file, &mut names[..])?;
    for key in keys(&names[..length]).filter(|key| !metadata.contains_key(*key)) {
        match fremovexattr(file, format!("{PREFIX}{key}")) {
            Ok(()) | Err(Errno::NODATA) => {}
            Err(error) => return Err(error.into()),
        }
    }
    for (key, value) in metadata {
        fsetxattr(file, format!("{PREFIX}{key}"), value.as_bytes(), XattrFlags::empty())?;
    }
    Ok(())
}

/// Whether the file system has no extended attributes at all.
pub fn is_unsupported(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOTSUP))
}

fn keys(names: &[u8]) -> impl Iterator<Item = &str> {
    names.split(|byte| *byte == 0).filter_map(|name| str::from_utf8(name).ok()?.strip_prefix(PREFIX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_replaces_the_one_before_and_foreign_attributes_stay() {
        let directory = tempfile::tempdir_in("/tmp").expect("tempdir");
        let path = directory.path().join("f");
        let file = File::create(&path).expect("create");
        let set = |pairs: &[(&str, &str)]| pairs.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
        let first: BTreeMap<String, String> = set(&[("a", "1"), ("b", "")]);
        if let Err(error) = replace(&file, &first) {
            assert!(is_unsupported(&error), "{error}");
            return;
        }
        fsetxattr(&file, "user.other", b"x", XattrFlags::empty()).expect("foreign");
        fsetxattr(&file, "user.e2b.binary", b"\xff", XattrFlags::empty()).expect("not UTF-8");
        assert_eq!(read(&path), first);
        replace(&file, &set(&[("c", "3")])).expect("replace");
        assert_eq!(read(&path), set(&[("c", "3")]));
        replace(&file, &BTreeMap::new()).expect("clear");
        assert!(read(&path).is_empty());
        let mut value = [0; 8];
        assert_eq!(getxattr(&path, "user.other", &mut value[..]), Ok(1));
    }
}
