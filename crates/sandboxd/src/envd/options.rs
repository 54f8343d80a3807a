//! Settings that hold for the daemon's whole life.

use std::collections::BTreeMap;

/// Settings that hold for the daemon's whole life.
#[derive(Clone, Debug)]
pub struct Options {
    /// Login name for calls that name no user, until `/init` says otherwise.
    pub default_user: String,
    /// Variables of every process, which `/init` can't change: `E2B_SANDBOX`, `E2B_SANDBOX_ID`, ….
    pub variables: BTreeMap<String, String>,
}

impl Default for Options {
    /// The real daemon's: root, and `E2B_SANDBOX`.
    fn default() -> Self {
        Self { default_user: "root".into(), variables: BTreeMap::from([("E2B_SANDBOX".into(), "true".into())]) }
    }
}
