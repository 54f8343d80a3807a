//! Parts of files and conditional requests.

use std::time::SystemTime;

use axum::http::{HeaderMap, header};

use crate::envd::authentication::header_text;

/// What of a file to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// All of it: 200.
    Whole,
    /// From the first offset to before the second: 206.
    Part(u64, u64),
    /// Nothing, the client's copy is good: 304.
    NotModified,
    /// Nothing, the client wants an older one: 412.
    PreconditionFailed,
    /// The range is outside of the file: 416.
    Unsatisfiable,
}

/// Whether the request asks for a part or is conditional; such are answered without compression.
pub fn is_special(headers: &HeaderMap) -> bool {
    [header::RANGE, header::IF_MODIFIED_SINCE, header::IF_NONE_MATCH, header::IF_RANGE]
        .iter()
        .any(|name| !header_text(headers, name.as_str()).is_empty())
}

/// Decides what to send of a file of this length and age. Files have no entity tags here. Several
/// ranges at once are answered with the whole file, as HTTP allows.
pub fn select(headers: &HeaderMap, length: u64, modified: SystemTime) -> Selection {
    let text = |name: header::HeaderName| header_text(headers, name.as_str()).to_owned();
    // Dates of headers have whole seconds.
    let is_newer_than =
        |date: &str| httpdate::parse_http_date(date).ok().map(|date| whole_seconds(modified) > whole_seconds(date));
    if is_newer_than(&text(header::IF_UNMODIFIED_SINCE)) == Some(true) {
        return Selection::PreconditionFailed;
    }
    let none_match = text(header::IF_NONE_MATCH);
    if none_match.trim() == "*" {
        return Selection::NotModified;
    }
    if none_match.is_empty() && is_newer_than(&text(header::IF_MODIFIED_SINCE)) == Some(false) {
        return Selection::NotModified;
    }
    let if_range = text(header::IF_RANGE);
    let same = httpdate::parse_http_date(&if_range).is_ok_and(|date| whole_seconds(date) == whole_seconds(modified));
    if !if_range.is_empty() && !same {
        return Selection::Whole;
    }
    range(&text(header::RANGE), length)
}

fn range(header: &str, length: u64) -> Selection {
    if header.is_empty() || header.contains(',') {
        return Selection::Whole;
    }
    let Some((first, last)) = header.strip_prefix("bytes=").and_then(|spec| spec.trim().split_once('-')) else {
        return Selection::Unsatisfiable;
    };
    match (first.trim().parse::<u64>().ok(), last.trim()) {
        (Some(first), _) if first >= length => Selection::Unsatisfiable,
        (Some(first), "") => Selection::Part(first, length),
        (Some(first), last) => match last.parse::<u64>() {
            Ok(last) if last >= first => Selection::Part(first, last.saturating_add(1).min(length)),
            _ => Selection::Unsatisfiable,
        },
        (None, last) if first.trim().is_empty() => match last.parse::<u64>() {
            Ok(suffix) if suffix > 0 && length > 0 => Selection::Part(length.saturating_sub(suffix), length),
            _ => Selection::Unsatisfiable,
        },
        (None, _) => Selection::Unsatisfiable,
    }
}

fn whole_seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    #[test]
    fn ranges_are_cut_to_the_file() {
        let table = [
            ("", Selection::Whole),
            ("bytes=0-3", Selection::Part(0, 4)),
            ("bytes=4-", Selection::Part(4, 10)),
            ("bytes=-3", Selection::Part(7, 10)),
            ("bytes=-30", Selection::Part(0, 10)),
            ("bytes=8-99", Selection::Part(8, 10)),
            ("bytes=10-", Selection::Unsatisfiable),
            ("bytes=5-4", Selection::Unsatisfiable),
            ("lines=1-2", Selection::Unsatisfiable),
            ("bytes=0-1,3-4", Selection::Whole),
        ];
        for (header, expected) in table {
            assert_eq!(range(header, 10), expected, "{header}");
        }
    }

    #[test]
    fn conditions_come_before_the_range() {
        let modified = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        let date = |seconds: u64| httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        let selected = |pairs: &[(HeaderName, String)]| {
            let headers = pairs
                .iter()
                .map(|(name, value)| (name.clone(), HeaderValue::from_str(value).expect("header")))
                .collect();
            select(&headers, 10, modified)
        };
        let part = (header::RANGE, "bytes=0-0".to_owned());
        let same = date(1_000_000_000);
        let older = date(999_999_999);
        assert_eq!(selected(&[part.clone(), (header::IF_MODIFIED_SINCE, same.clone())]), Selection::NotModified);
        assert_eq!(selected(&[part.clone(), (header::IF_MODIFIED_SINCE, older.clone())]), Selection::Part(0, 1));
        assert_eq!(selected(&[part.clone(), (header::IF_RANGE, same)]), Selection::Part(0, 1));
        assert_eq!(selected(&[part.clone(), (header::IF_RANGE, older.clone())]), Selection::Whole);
        assert_eq!(selected(&[part, (header::IF_UNMODIFIED_SINCE, older)]), Selection::PreconditionFailed);
    }
}
