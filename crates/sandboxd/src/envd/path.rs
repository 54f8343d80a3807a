//! Which path a request means, and making the directories above it.

use std::{
    fs, io,
    os::unix::fs::chown,
    path::{Component, Path, PathBuf},
};

use super::account::Account;

/// The path that a request means, for one user: `~` is the home, relative paths start at the home,
/// an empty path is the sandbox's default directory (or the home), an absolute one stays as it is,
/// uncleaned.
///
/// # Errors
/// A sentence for `~other`, which isn't served.
pub fn resolve(path: &str, account: &Account, default: Option<&str>) -> Result<PathBuf, String> {
    let path = if path.is_empty() { default.unwrap_or_default() } else { path };
    if let Some(rest) = path.strip_prefix('~') {
        if !rest.is_empty() && !rest.starts_with(['/', '\\']) {
            return Err(format!(
                "failed to expand path '{path}' for user '{}': cannot expand user-specific home dir",
                account.name
            ));
        }
        return Ok(clean(&account.home.join(rest.trim_start_matches('/'))));
    }
    if path.starts_with('/') { Ok(PathBuf::from(path)) } else { Ok(clean(&account.home.join(path))) }
}

/// Takes `.`, `..` and repeated slashes out, by the text alone.
fn clean(path: &Path) -> PathBuf {
    let mut cleaned = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                cleaned.pop();
            }
            other => cleaned.push(other),
        }
    }
    cleaned
}

/// The last part of a path, as an entry's name: without trailing slashes, `/` for the root.
pub fn base(path: &Path) -> String {
    let text = path.to_string_lossy();
    let trimmed = text.trim_end_matches('/');
    match trimmed.rsplit('/').next() {
        Some("") | None => "/".into(),
        Some(name) => name.into(),
    }
}

/// The directory of a path, by the text alone.
pub fn parent(path: &Path) -> PathBuf {
    let cleaned = clean(path);
    cleaned.parent().map_or_else(|| PathBuf::from("/"), Path::to_path_buf)
}

/// Makes a directory and those above it. Only new ones are given to the account; they are 0755
/// less the umask. Symbolic links on the way are followed.
///
/// # Errors
/// A sentence with the cause: a component that is a file, no space, no permission.
pub fn ensure_directories(path: &Path, account: &Account) -> Result<(), String> {
    let mut so_far = PathBuf::from("/");
    for component in clean(path).components().skip(1) {
        so_far.push(component);
        match fs::metadata(&so_far) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => return Err(format!("path is a file: {}", so_far.display())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                make_directory(&so_far).map_err(|error| format!("failed to create directory: {error}"))?;
                // Also when another process was first: it may not have got to its chown yet.
                chown(&so_far, Some(account.uid), Some(account.gid))
                    .map_err(|error| format!("failed to chown directory: {error}"))?;
            }
            Err(error) => return Err(format!("failed to stat directory: {error}")),
        }
    }
    Ok(())
}

fn make_directory(path: &Path) -> io::Result<()> {
    match rustix::fs::mkdir(path, rustix::fs::Mode::from_raw_mode(0o755)) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account() -> Account {
        Account { name: "user".into(), uid: 1000, gid: 1000, home: "/home/user".into() }
    }

    #[test]
    fn relative_paths_start_at_the_home_and_absolute_ones_stay_as_they_are() {
        let table = [
            ("a/b", "/home/user/a/b"),
            ("../x", "/home/x"),
            ("~", "/home/user"),
            ("~/a", "/home/user/a"),
            ("~//a", "/home/user/a"),
            ("/a/../b/", "/a/../b/"),
            ("", "/home/user"),
        ];
        for (asked, meant) in table {
            let resolved = resolve(asked, &account(), None).expect(asked);
            assert_eq!(resolved.as_os_str(), meant, "{asked:?}");
        }
        assert_eq!(resolve("", &account(), Some("/work")).expect("default"), PathBuf::from("/work"));
        assert_eq!(resolve("x", &account(), Some("/work")).expect("relative"), PathBuf::from("/home/user/x"));
        assert!(resolve("~other/x", &account(), None).is_err());
    }

    #[test]
    fn names_are_the_last_part_of_the_path() {
        for (path, name) in [("/a/b", "b"), ("/a/b/", "b"), ("/", "/"), ("/a/..", "..")] {
            assert_eq!(base(Path::new(path)), name, "{path}");
        }
        assert_eq!(parent(Path::new("/a/b/")), PathBuf::from("/a"));
        assert_eq!(parent(Path::new("/a")), PathBuf::from("/"));
    }

    #[test]
    fn a_file_on_the_way_is_named_in_the_error() {
        let directory = tempfile::tempdir().expect("tempdir");
        let file = directory.path().join("file");
        fs::write(&file, "").expect("write");
        let uid = rustix::process::geteuid().as_raw();
        let me = Account { uid, gid: rustix::process::getegid().as_raw(), ..account() };
        let error = ensure_directories(&file.join("below"), &me).unwrap_err();
        assert!(error.contains("path is a file") || error.contains("stat"), "{error}");
        ensure_directories(&directory.path().join("a/b/c"), &me).expect("new directories");
        assert!(directory.path().join("a/b/c").is_dir());
    }
}
