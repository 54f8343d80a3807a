//! Query strings.

use chrono::{DateTime, Utc};
use percent_encoding::percent_decode_str;

use super::ApiError;

/// The decoded pairs of a query string.
#[derive(Debug)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Decodes; a request without a query has no pairs.
    pub fn new(text: Option<&str>) -> Self {
        Self(form_urlencoded::parse(text.unwrap_or_default().as_bytes()).into_owned().collect())
    }

    /// The first non-empty value under a name.
    pub fn one(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, value)| key == name && !value.is_empty()).map(|(_, value)| value.as_str())
    }

    /// All values under a name, commas splitting too.
    pub fn all(&self, name: &str) -> Vec<&str> {
        let values = self.0.iter().filter(|(key, _)| key == name);
        values.flat_map(|(_, value)| value.split(',')).filter(|value| !value.is_empty()).collect()
    }

    /// A number.
    ///
    /// # Errors
    /// 400 when it is none.
    pub fn number<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>, ApiError> {
        let parse = |text: &str| text.parse().map_err(|_| ApiError::bad(format!("invalid {name} \"{text}\"")));
        self.one(name).map(parse).transpose()
    }

    /// An RFC 3339 instant.
    ///
    /// # Errors
    /// 400 when it is none.
    pub fn instant(&self, name: &str) -> Result<Option<DateTime<Utc>>, ApiError> {
        let parse = |text: &str| {
            DateTime::parse_from_rfc3339(text)
                .map(|at| at.to_utc())
                .map_err(|error| ApiError::bad(format!("invalid {name}: {error}")))
        };
        self.one(name).map(parse).transpose()
    }

    /// Pairs inside one value, each encoded twice: as a query string whose parts are percent-encoded again.
    pub fn pairs(&self, name: &str) -> Vec<(String, String)> {
        let decode = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        let inner = self.one(name).unwrap_or_default();
        form_urlencoded::parse(inner.as_bytes()).map(|(key, value)| (decode(&key), decode(&value))).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "the inputs are constants")]

    use super::*;

    #[test]
    fn pairs_are_decoded_as_often_as_the_sdk_encodes_them() {
        // encodeURIComponent on keys and values, URLSearchParams, and once more for the query.
        let query = Query::new(Some("metadata=a%252520b%3Dc%252526d%26e%3Df"));
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(query.pairs("metadata"), [pair("a b", "c&d"), pair("e", "f")]);
    }

    #[test]
    fn states_come_in_one_value_or_several() {
        assert_eq!(Query::new(Some("state=running%2Cpaused&state=x")).all("state"), ["running", "paused", "x"]);
        assert!(Query::new(None).all("state").is_empty());
    }

    #[test]
    fn a_number_that_is_none_is_refused() {
        let query = Query::new(Some("limit=ten&start="));
        assert_eq!(query.number::<usize>("limit").unwrap_err().status, 400);
        assert_eq!(query.number::<i64>("start").unwrap(), None);
    }
}
