//! The type of a file's content, by its name or its first bytes.

use std::path::Path;

const UNKNOWN: &str = "application/octet-stream";

/// The type that belongs to a file's extension, or nothing.
pub fn by_name(path: &Path) -> Option<String> {
    let guess = mime_guess::from_path(path).first_raw()?;
    Some(if guess.starts_with("text/") { format!("{guess}; charset=utf-8") } else { guess.to_owned() })
}

/// The type of content without a known extension: text if its beginning looks like it.
pub fn by_content(beginning: &[u8]) -> String {
    let text = match str::from_utf8(beginning) {
        Ok(_) => true,
        // The border may have cut a character.
        Err(error) => error.error_len().is_none(),
    };
    let binary = |byte: &u8| matches!(byte, 0..=8 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f);
    if text && !beginning.iter().any(binary) { "text/plain; charset=utf-8".into() } else { UNKNOWN.into() }
}

/// For content that is compressed on its way and so can't be looked at.
pub fn by_name_only(path: &Path) -> String {
    by_name(path).unwrap_or_else(|| UNKNOWN.into())
}
