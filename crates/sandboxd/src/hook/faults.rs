//! The plan of faults, as read and written on `/_sandboxd/faults`.
//!
//! ```json
//! {
//!   "delayMs": 25,
//!   "throttle": {"up": 10485760, "down": 10485760},
//!   "stall": "down",
//!   "cut": {"everyBytes": 1000000, "everyMs": 100, "how": "rst"},
//!   "refuse": [{"path": "/process.Process/StreamInput", "contentType": "application/connect+proto", "status": 404}]
//! }
//! ```
//!
//! Every key may be left out. *Up* is from the client to the sandbox, *down* the other way.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How a connection is closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum How {
    /// TCP reset: whatever is still on its way is lost.
    #[default]
    Rst,
    /// An orderly end.
    Fin,
}

/// Which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From the client.
    Up,
    /// To the client.
    Down,
    /// Either.
    Both,
}

/// Bytes a second; absent means unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Throttle {
    /// From the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub up: Option<u64>,
    /// To the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub down: Option<u64>,
}

/// When connections are closed by themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Cut {
    /// After exactly so many bytes, both ways together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every_bytes: Option<u64>,
    /// So many milliseconds after it was opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every_ms: Option<u64>,
    /// In which way.
    pub how: How,
}

/// Requests that the edge answers by itself. All given fields must match.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Refusal {
    /// Start of the path; empty matches every path.
    pub path: String,
    /// Start of the content type; empty matches every type.
    pub content_type: String,
    /// The HTTP status of the answer.
    pub status: u16,
    /// Its body; a JSON error object when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
}

/// All faults of one plan. The default has none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Faults {
    /// One-way delay in milliseconds: the round trip grows by twice as much. Bytes are delayed, not slowed down.
    pub delay_ms: u64,
    /// Rates.
    pub throttle: Throttle,
    /// Nothing more passes in this direction, and nothing is closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stall: Option<Direction>,
    /// Connections that end by themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut: Option<Cut>,
    /// Requests that do not reach the sandbox.
    pub refuse: Vec<Refusal>,
}

impl Faults {
    /// Whether bytes need more than being passed on.
    pub fn touches_bytes(&self) -> bool {
        self.delay_ms > 0
            || self.throttle != Throttle::default()
            || self.stall.is_some()
            || self.cut.is_some_and(|cut| cut.every_bytes.is_some())
    }

    /// The delay of one direction.
    pub fn delay(&self) -> Duration {
        Duration::from_millis(self.delay_ms)
    }

    /// The rate of one direction in bytes a second, if limited.
    pub fn rate(&self, way: Direction) -> Option<u64> {
        match way {
            Direction::Up => self.throttle.up,
            Direction::Down => self.throttle.down,
            Direction::Both => None,
        }
    }

    /// Whether a direction stands still.
    pub fn stalls(&self, way: Direction) -> bool {
        self.stall.is_some_and(|stalled| stalled == way || stalled == Direction::Both)
    }

    /// The refusal that a request meets, if any.
    pub fn refusal(&self, path: &str, content_type: &str) -> Option<&Refusal> {
        self.refuse.iter().find(|one| path.starts_with(&one.path) && content_type.starts_with(&one.content_type))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed parse is a failed test")]

    use super::*;

    #[test]
    fn a_plan_with_an_unknown_key_is_refused_rather_than_ignored() {
        assert!(serde_json::from_str::<Faults>(r#"{"delay": 25}"#).is_err());
        assert_eq!(serde_json::from_str::<Faults>("{}").unwrap(), Faults::default());
    }

    #[test]
    fn a_refusal_matches_by_path_and_content_type_together() {
        let plan: Faults =
            serde_json::from_str(r#"{"refuse": [{"path": "/a", "contentType": "application/proto", "status": 415}]}"#)
                .unwrap();
        assert_eq!(plan.refusal("/a/b", "application/proto").unwrap().status, 415);
        assert_eq!(plan.refusal("/a/b", "application/json"), None);
        assert_eq!(plan.refusal("/b", "application/proto"), None);
    }
}
