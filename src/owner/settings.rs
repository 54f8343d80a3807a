//! What an owner is told.

use std::time::Duration;

use crate::envd::{Secret, url::UrlSettings};

/// How a sandbox comes to be the owner's.
#[derive(Clone)]
pub enum Target {
    /// A new one, which is ours to kill.
    New {
        /// Its template.
        template: String,
        /// Variables of every process in it.
        envs: Vec<(String, String)>,
        /// Labels.
        metadata: Vec<(String, String)>,
    },
    /// One that exists. Its life is not ours: it is never killed here.
    Existing {
        /// Its id.
        sandbox_id: String,
    },
}

/// Everything that an owner must know.
#[derive(Clone)]
pub struct OwnerSettings {
    /// Where the servers are.
    pub urls: UrlSettings,
    /// Key for the control plane.
    pub api_key: Secret,
    /// Account token for the control plane, for old set-ups.
    pub account_token: Option<Secret>,
    /// Which sandbox.
    pub target: Target,
    /// Its life, from now; rounded up to seconds.
    pub timeout: Duration,
    /// The directory that all adapters share; absolute.
    pub cwd: String,
    /// The private directory of adapters; absolute.
    pub runtime_root: String,
}

impl OwnerSettings {
    /// The life in the wire's whole seconds, at least one.
    pub fn timeout_seconds(&self) -> u64 {
        let whole = self.timeout.as_secs() + u64::from(self.timeout.subsec_nanos() > 0);
        whole.max(1)
    }

    /// Whether the sandbox' life is ours.
    pub fn owns(&self) -> bool {
        matches!(self.target, Target::New { .. })
    }
}

/// Values of variables are the user's own secrets, perhaps.
impl std::fmt::Debug for OwnerSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OwnerSettings")
            .field("urls", &self.urls)
            .field("timeout", &self.timeout)
            .field("cwd", &self.cwd)
            .field("owns", &self.owns())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
pub(super) fn test_settings(url: &str) -> OwnerSettings {
    let urls = UrlSettings { api_url: Some(url.into()), sandbox_url: Some(url.into()), domain: None, debug: false };
    OwnerSettings {
        urls,
        api_key: Secret::new("e2b_00ff"),
        account_token: None,
        target: Target::New { template: "base".into(), envs: Vec::new(), metadata: Vec::new() },
        timeout: Duration::from_millis(1500),
        cwd: "/home/user/workspace".into(),
        runtime_root: "/home/user/workspace/.dsh-e2b".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c61_a_part_of_a_second_counts_as_a_whole_one() {
        let mut settings = test_settings("http://h");
        for (ms, seconds) in [(1500, 2), (1, 1), (300_000, 300)] {
            settings.timeout = Duration::from_millis(ms);
            assert_eq!(settings.timeout_seconds(), seconds);
        }
    }

    #[test]
    fn c63_the_inspection_of_the_settings_shows_neither_key_nor_values() {
        let mut settings = test_settings("http://h");
        let envs = vec![("NAME".into(), "hidden-value".into())];
        settings.target = Target::New { template: "base".into(), envs, metadata: Vec::new() };
        let text = format!("{settings:?}");
        assert!(!text.contains("e2b_00ff") && !text.contains("hidden-value"), "{text}");
    }
}
