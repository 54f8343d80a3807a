//! Permissions as text, in the notation of the daemon's language.

/// A file mode as text: letters for the kind and special bits (a dash if there are none), then
/// `rwx` three times. A link is `L`, a character device `Dc`.
pub fn text(mode: u32) -> String {
    let kind = match mode & libc::S_IFMT {
        libc::S_IFDIR => "d",
        libc::S_IFLNK => "L",
        libc::S_IFBLK => "D",
        libc::S_IFIFO => "p",
        libc::S_IFSOCK => "S",
        _ => "",
    };
    let is_character_device = mode & libc::S_IFMT == libc::S_IFCHR;
    let mut text = String::from(if is_character_device { "D" } else { kind });
    // Between the two letters of a character device, as the order of the bits has it.
    for (bit, letter) in [(libc::S_ISUID, 'u'), (libc::S_ISGID, 'g')] {
        if mode & bit != 0 {
            text.push(letter);
        }
    }
    if is_character_device {
        text.push('c');
    }
    if mode & libc::S_ISVTX != 0 {
        text.push('t');
    }
    if text.is_empty() {
        text.push('-');
    }
    text.extend(
        "rwxrwxrwx".char_indices().map(|(index, letter)| if mode & (0o400 >> index) != 0 { letter } else { '-' }),
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_and_special_bits_come_before_the_permissions() {
        let table = [
            (libc::S_IFREG | 0o644, "-rw-r--r--"),
            (libc::S_IFDIR | 0o755, "drwxr-xr-x"),
            (libc::S_IFLNK | 0o777, "Lrwxrwxrwx"),
            (libc::S_IFDIR | 0o1777, "dtrwxrwxrwx"),
            (libc::S_IFREG | 0o4755, "urwxr-xr-x"),
            (libc::S_IFCHR | 0o666, "Dcrw-rw-rw-"),
            (libc::S_IFBLK | 0o660, "Drw-rw----"),
            (libc::S_IFIFO | 0o600, "prw-------"),
            (libc::S_IFSOCK | 0o700, "Srwx------"),
        ];
        for (mode, expected) in table {
            assert_eq!(text(mode), expected);
        }
    }
}
