//! Text of a server on its way into an error message.

/// Servers' texts are for people: more bytes than this are cut.
pub const MAX_TEXT: usize = 1000;

/// `text`, cut at a character's border when it is longer than [`MAX_TEXT`].
pub fn shorten(mut text: String) -> String {
    if text.len() > MAX_TEXT {
        let end = (0..=MAX_TEXT).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
    text
}
