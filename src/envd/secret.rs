//! Values that must never be shown: the access token, the API key.

use std::fmt;

use http::HeaderValue;
use zeroize::Zeroizing;

/// A secret text: printed as a placeholder, wiped when dropped.
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Takes `value` over.
    pub fn new(value: impl Into<String>) -> Self {
        Self(Zeroizing::new(value.into()))
    }

    /// The text itself, for a request.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The text as a header value that prints as `Sensitive`; `None` when it holds characters that no header may hold.
    pub fn header(&self) -> Option<HeaderValue> {
        let mut value = HeaderValue::from_str(&self.0).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// `text` with every occurrence of the secret replaced: a peer may echo what it got into its error message.
    pub fn redact(&self, text: String) -> String {
        if self.0.is_empty() || !text.contains(self.0.as_str()) {
            return text;
        }
        text.replace(self.0.as_str(), "[redacted]")
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

    use super::Secret;

    #[test]
    fn c63_no_way_of_printing_shows_the_secret() {
        let secret = Secret::new("tok-123");
        assert_eq!(format!("{secret:?}"), "[redacted]");
        assert_eq!(format!("{:?}", secret.header().unwrap()), "Sensitive");
        assert_eq!(secret.redact("bad token tok-123!".into()), "bad token [redacted]!");
    }

    #[test]
    fn a_value_that_no_header_may_hold_is_refused() {
        assert!(Secret::new("a\nb").header().is_none());
    }
}
