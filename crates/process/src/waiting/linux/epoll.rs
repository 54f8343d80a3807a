//! What an epoll descriptor watches, as `/proc` tells it.

use super::wanted::File;

/// A file that is watched.
#[derive(Debug, PartialEq, Eq)]
pub struct Watched {
    /// The descriptor that it was registered by.
    pub number: u64,
    /// For what.
    pub events: u32,
    /// Which file that was.
    pub file: File,
}

/// Everything that epoll descriptor `number` of the task at `path` watches.
pub fn watched(path: &str, number: u64) -> impl Iterator<Item = Watched> {
    let info = std::fs::read_to_string(format!("{path}/fdinfo/{number}")).unwrap_or_default();
    info.lines().filter_map(parse).collect::<Vec<_>>().into_iter()
}

/// Whether descriptor `number` of the task at `path` is an epoll descriptor.
pub fn is_one(path: &str, number: u64) -> bool {
    let target = std::fs::read_link(format!("{path}/fd/{number}"));
    target.is_ok_and(|target| target.as_os_str() == "anon_inode:[eventpoll]")
}

/// Reads a line `tfd: 5 events: 19 data: … pos:0 ino:3 sdev:18`, which is in hexadecimal but for the descriptor.
fn parse(line: &str) -> Option<Watched> {
    let mut words = line.strip_prefix("tfd:")?.split_ascii_whitespace();
    let number = words.next()?.parse().ok()?;
    let events = u32::from_str_radix(words.nth(1)?, 16).ok()?;
    let mut value = |name| u64::from_str_radix(words.find_map(|word| word.strip_prefix(name))?, 16).ok();
    let (inode, filesystem) = (value("ino:")?, value("sdev:")?);
    Some(Watched { number, events, file: File { inode, filesystem } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watched_descriptor_is_parsed() {
        let line = "tfd:       10 events:       19 data:               1a  pos:0 ino:3f sdev:1a";
        let file = File { inode: 0x3f, filesystem: 0x1a };
        assert_eq!(parse(line), Some(Watched { number: 10, events: 0x19, file }));
        assert_eq!(parse("pos:\t0"), None);
    }
}
