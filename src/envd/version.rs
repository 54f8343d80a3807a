//! Versions of the daemon, read leniently.

/// Major, minor, patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32, pub u32, pub u32);

impl Version {
    /// Reads the leading numbers of `text`: `0.6.4-sandlock` is 0.6.4, a missing part is 0. `None` when it begins with no number:
    /// an unknown version is no old one.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.trim().trim_start_matches('v').splitn(3, '.').map(|part| {
            let end = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
            part[..end].parse::<u32>().ok()
        });
        let major = parts.next().flatten()?;
        Some(Self(major, parts.next().flatten().unwrap_or(0), parts.next().flatten().unwrap_or(0)))
    }
}

#[cfg(test)]
mod tests {
    use super::Version;

    #[test]
    fn suffixes_and_missing_parts_are_tolerated() {
        assert_eq!(Version::parse("0.6.13"), Some(Version(0, 6, 13)));
        assert_eq!(Version::parse("0.6.4-sandlock"), Some(Version(0, 6, 4)));
        assert_eq!(Version::parse("v1"), Some(Version(1, 0, 0)));
        assert_eq!(Version::parse("0.5rc1"), Some(Version(0, 5, 0)));
        assert_eq!(Version::parse("unknown"), None);
        assert_eq!(Version::parse(""), None);
    }
}
