//! Metadata of an upload: `X-Metadata-<key>: <value>`.

use std::collections::BTreeMap;

use axum::http::HeaderMap;

use crate::envd::filesystem::metadata::PREFIX as ATTRIBUTE_PREFIX;

const HEADER_PREFIX: &str = "x-metadata-";
/// The kernel's limit for an attribute's whole name.
const LONGEST_NAME: usize = 255;
/// What fits beside an inode on ext4, names and values together.
const LARGEST_SET: usize = 4096;

/// The metadata of an upload, keys in lower case; of several headers with one key the first counts.
///
/// # Errors
/// A sentence for what could not be stored: a key or a value that isn't printable ASCII, too long a
/// key, too much of it.
pub fn metadata(headers: &HeaderMap) -> Result<BTreeMap<String, String>, String> {
    let mut set = BTreeMap::new();
    let mut size = 0;
    for name in headers.keys() {
        let Some(key) = name.as_str().strip_prefix(HEADER_PREFIX).filter(|key| !key.is_empty()) else { continue };
        let Some(value) = headers.get(name) else { continue };
        if ATTRIBUTE_PREFIX.len() + key.len() > LONGEST_NAME {
            return Err(format!("metadata key {key:?} exceeds {} bytes", LONGEST_NAME - ATTRIBUTE_PREFIX.len()));
        }
        // Header names are ASCII without blanks by their own rules.
        let value =
            printable(value.as_bytes()).map_err(|problem| format!("metadata value for key {key:?} {problem}"))?;
        size += ATTRIBUTE_PREFIX.len() + key.len() + value.len();
        set.insert(key.to_owned(), value.to_owned());
    }
    if size > LARGEST_SET {
        return Err(format!("total metadata size {size} exceeds {LARGEST_SET} bytes"));
    }
    Ok(set)
}

fn printable(value: &[u8]) -> Result<&str, String> {
    match value.iter().position(|byte| !(0x20..=0x7e).contains(byte)) {
        Some(offset) => Err(format!("contains non-printable-ASCII byte 0x{:02x} at offset {offset}", value[offset])),
        None => str::from_utf8(value).map_err(|error| error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    fn headers(pairs: &[(&str, &[u8])]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            let name: HeaderName = name.parse().expect("name");
            headers.append(name, HeaderValue::from_bytes(value).expect("value"));
        }
        headers
    }

    #[test]
    fn keys_are_lower_case_and_the_first_of_a_key_counts() {
        let set = metadata(&headers(&[("X-Metadata-A-b", b"1"), ("x-metadata-a-B", b"2"), ("x-other", b"3")]));
        assert_eq!(set, Ok(BTreeMap::from([("a-b".into(), "1".into())])));
    }

    #[test]
    fn what_can_not_be_stored_is_refused() {
        let long_key = format!("x-metadata-{}", "k".repeat(247));
        assert!(metadata(&headers(&[(&long_key, b"v")])).is_err());
        assert!(metadata(&headers(&[("x-metadata-k", "ä".as_bytes())])).is_err());
        assert!(metadata(&headers(&[("x-metadata-k", b"a\tb")])).is_err());
        assert!(metadata(&headers(&[("x-metadata-k", &[b'v'; 4087])])).is_err());
        assert!(metadata(&headers(&[("x-metadata-k", &[b'v'; 4086])])).is_ok());
    }
}
