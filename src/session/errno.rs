//! Names of Linux error numbers, on whatever system the host runs.

/// Operation not permitted.
pub const EPERM: i32 = 1;
/// More words than a program can be given.
pub const E2BIG: i32 = 7;
/// A path that no kernel takes.
pub const ENAMETOOLONG: i32 = 36;

/// The name of a Linux error number (`ENOENT`), as Node has it in `code`.
pub fn name(errno: i32) -> Option<&'static str> {
    Some(match errno {
        1 => "EPERM",
        2 => "ENOENT",
        3 => "ESRCH",
        4 => "EINTR",
        5 => "EIO",
        6 => "ENXIO",
        7 => "E2BIG",
        8 => "ENOEXEC",
        9 => "EBADF",
        10 => "ECHILD",
        11 => "EAGAIN",
        12 => "ENOMEM",
        13 => "EACCES",
        14 => "EFAULT",
        16 => "EBUSY",
        17 => "EEXIST",
        19 => "ENODEV",
        20 => "ENOTDIR",
        21 => "EISDIR",
        22 => "EINVAL",
        23 => "ENFILE",
        24 => "EMFILE",
        25 => "ENOTTY",
        26 => "ETXTBSY",
        27 => "EFBIG",
        28 => "ENOSPC",
        30 => "EROFS",
        32 => "EPIPE",
        36 => "ENAMETOOLONG",
        38 => "ENOSYS",
        40 => "ELOOP",
        79 => "ELIBACC",
        80 => "ELIBBAD",
        83 => "ELIBEXEC",
        110 => "ETIMEDOUT",
        122 => "EDQUOT",
        _ => return None,
    })
}

/// The name, or `errno N` for one that has none here.
pub fn describe(errno: i32) -> String {
    name(errno).map_or_else(|| format!("errno {errno}"), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_what_a_start_can_fail_with() {
        assert_eq!(name(2), Some("ENOENT"));
        assert_eq!(name(13), Some("EACCES"));
        assert_eq!(name(7), Some("E2BIG"));
        assert_eq!(describe(999), "errno 999");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn agrees_with_this_linux() {
        for (number, expected) in [
            (libc::ENOEXEC, "ENOEXEC"),
            (libc::ELOOP, "ELOOP"),
            (libc::ENAMETOOLONG, "ENAMETOOLONG"),
            (libc::EDQUOT, "EDQUOT"),
        ] {
            assert_eq!(name(number), Some(expected));
        }
    }
}
