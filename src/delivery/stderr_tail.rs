//! The last of what a process wrote to stderr, for error texts.

/// Kept at most.
const MAX: usize = 2048;

/// A bounded tail.
#[derive(Debug, Default)]
pub(super) struct StderrTail(Vec<u8>);

impl StderrTail {
    /// Adds bytes, forgetting the oldest above the bound.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(&bytes[bytes.len().saturating_sub(MAX)..]);
        let excess = self.0.len().saturating_sub(MAX);
        self.0.drain(..excess);
    }

    /// As text on one line; `None` when there is nothing to say.
    pub(super) fn text(&self) -> Option<String> {
        let text = String::from_utf8_lossy(&self.0);
        let lines: Vec<_> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        (!lines.is_empty()).then(|| lines.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_bytes_are_kept() {
        let mut tail = StderrTail::default();
        assert_eq!(tail.text(), None);
        tail.push(b"first\n");
        tail.push(&[b'x'; 5000]);
        tail.push(b"\nlast\n\n");
        let text = tail.text().unwrap_or_default();
        assert!(text.ends_with("x; last") && !text.contains("first") && text.len() <= MAX);
    }
}
