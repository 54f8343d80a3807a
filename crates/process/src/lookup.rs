//! Where a program is: `execvp`'s rule for commands (C19) and the rules of `resolveExecutable` (C40, D12).

use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, FileType};

/// What `execvp` searches when there is no `PATH` at all.
const DEFAULT_PATH: &[u8] = b"/bin:/usr/bin";
/// `NAME_MAX` of Linux: a longer bare name cannot exist anywhere.
const NAME_MAX: usize = 255;
/// A path of so many bytes is refused by the kernel, whatever its parts: `PATH_MAX` counts the NUL.
const TOO_LONG: usize = libc::PATH_MAX as usize;

/// Paths at which `execve` is to be tried, in order, from the command's own working directory.
///
/// A name with `/` is its own only candidate. Entries of `path` that are empty mean the working directory, as for
/// `execvp`, and so does a `path` that is empty as a whole; entries with which the path would be too long are left out. An empty name has
/// no candidate. For a bare one that is too long there is one that fails so (`ENAMETOOLONG`).
pub fn candidates(name: &[u8], path: Option<&[u8]>) -> Vec<Vec<u8>> {
    if name.is_empty() {
        return Vec::new();
    }
    if name.contains(&b'/') {
        return vec![name.to_vec()];
    }
    if name.len() > NAME_MAX {
        return vec![vec![b'/'; TOO_LONG]];
    }
    let entries = path.unwrap_or(DEFAULT_PATH).split(|&byte| byte == b':');
    entries.map(|entry| join(entry, name)).filter(|candidate| candidate.len() < TOO_LONG).collect()
}

fn join(entry: &[u8], name: &[u8]) -> Vec<u8> {
    if entry.is_empty() {
        return [b"./", name].concat();
    }
    let separator: &[u8] = if entry.ends_with(b"/") { b"" } else { b"/" };
    [entry, separator, name].concat()
}

/// Why `resolve` gave no path; texts are matched by consumers (D12).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// The command is the empty string.
    #[error("executable name must be non-empty")]
    Empty,
    /// The command is a relative path with `/`.
    #[error("executable {0:?} is a relative path; use a bare name or an absolute path")]
    Relative(String),
    /// No entry of `PATH` has it.
    #[error("executable {0:?} was not found on PATH")]
    NotFound(String),
    /// An absolute path that is missing, no regular file, or not executable by us.
    #[error("{0:?} is not an executable file")]
    NotExecutable(String),
    /// NUL cannot be part of a path.
    #[error("executable {0:?} holds a NUL byte")]
    Nul(String),
}

/// The absolute path of an executable regular file for `command`.
///
/// `path` is the `PATH` to search (empty finds nothing); its relative entries count from `base`, which must be absolute.
pub fn resolve(command: &[u8], path: &[u8], base: &Path) -> Result<PathBuf, ResolveError> {
    let shown = || String::from_utf8_lossy(command).into_owned();
    if command.is_empty() {
        return Err(ResolveError::Empty);
    }
    if command.contains(&0) {
        return Err(ResolveError::Nul(shown()));
    }
    if command.starts_with(b"/") {
        let found = PathBuf::from(OsStr::from_bytes(command));
        return if is_executable_file(&found) { Ok(found) } else { Err(ResolveError::NotExecutable(shown())) };
    }
    if command.contains(&b'/') {
        return Err(ResolveError::Relative(shown()));
    }
    let entries = path.split(|&byte| byte == b':').filter(|_| !path.is_empty());
    entries
        .map(|entry| absolute(&join(entry, command), base))
        .find(|found| is_executable_file(found))
        .ok_or_else(|| ResolveError::NotFound(shown()))
}

/// Joins to `base` and drops `.` components, which an empty or `.` entry of `PATH` leaves behind.
fn absolute(path: &[u8], base: &Path) -> PathBuf {
    base.join(OsStr::from_bytes(path)).components().collect()
}

fn is_executable_file(path: &Path) -> bool {
    let regular = rustix::fs::stat(path).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_file());
    // EACCESS: by the effective ids, which is what exec looks at.
    regular && rustix::fs::accessat(CWD, path, Access::EXEC_OK, AtFlags::EACCESS).is_ok()
}

/// The bytes of a path.
pub fn path_bytes(path: PathBuf) -> Vec<u8> {
    path.into_os_string().into_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(name: &str, path: Option<&str>) -> Vec<String> {
        let found = candidates(name.as_bytes(), path.map(str::as_bytes));
        found.into_iter().map(|candidate| String::from_utf8(candidate).unwrap()).collect()
    }

    #[test]
    fn c19_a_bare_name_is_looked_up_along_the_given_path() {
        assert_eq!(texts("x", Some("/a:b/::/c")), ["/a/x", "b/x", "./x", "/c/x"]);
        assert_eq!(texts("x", None), ["/bin/x", "/usr/bin/x"]);
        assert_eq!(texts("x", Some("")), ["./x"]);
    }

    #[test]
    fn c19_a_name_with_a_slash_is_taken_as_it_is() {
        assert_eq!(texts("./x", Some("/a")), ["./x"]);
        assert_eq!(texts("", Some("/a")), Vec::<String>::new());
    }

    #[test]
    fn c19_an_entry_that_makes_the_path_too_long_is_passed_over() {
        let entry = |length: usize| format!("/{}", "e".repeat(length - 1));
        // With the separator, the name and the NUL.
        let longest = entry(TOO_LONG - 3);
        let path = format!("{}:{longest}:{}:/bin", entry(TOO_LONG - 2), entry(2 * TOO_LONG));
        assert_eq!(texts("x", Some(&path)), [format!("{longest}/x"), "/bin/x".into()]);
    }

    #[test]
    fn c19_a_bare_name_that_is_too_long_fails_as_such_wherever_it_is_looked_for() {
        for path in [None, Some("/nonexistent"), Some("")] {
            let found = texts(&"n".repeat(256), path);
            let [candidate] = &found[..] else { unreachable!("{found:?}") };
            assert_eq!(std::fs::metadata(candidate).unwrap_err().raw_os_error(), Some(libc::ENAMETOOLONG));
        }
        assert_eq!(texts(&"n".repeat(255), Some("/a")).len(), 1);
    }

    #[test]
    fn c40_resolves_bare_names_and_absolute_paths_only() {
        let base = Path::new("/");
        let found = |command: &str, path: &str| resolve(command.as_bytes(), path.as_bytes(), base);
        assert_eq!(found("sh", "/nowhere:/bin").unwrap(), Path::new("/bin/sh"));
        assert_eq!(found("sh", "bin").unwrap(), Path::new("/bin/sh"));
        assert_eq!(found("/bin/sh", "").unwrap(), Path::new("/bin/sh"));
        let text = |command: &str, path: &str| found(command, path).unwrap_err().to_string();
        assert!(text("", "/bin").contains("must be non-empty"));
        assert!(text("./sh", "/bin").contains("is a relative path"));
        assert!(text("sh", "").contains("was not found on PATH"));
        assert!(text("no-such-program", "/bin").contains("was not found on PATH"));
        assert!(text("/bin", "/bin").contains("is not an executable file"));
        assert!(text("/etc/passwd", "/bin").contains("is not an executable file"));
    }

    #[test]
    fn c40_an_empty_entry_means_the_shared_directory() {
        assert_eq!(resolve(b"sh", b":/usr/bin", Path::new("/bin")).unwrap(), Path::new("/bin/sh"));
        assert_eq!(resolve(b"sh", b".", Path::new("/bin")).unwrap(), Path::new("/bin/sh"));
    }
}
