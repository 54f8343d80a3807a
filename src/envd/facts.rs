//! What a client must know of one sandbox.

use super::{secret::Secret, version::Version};

/// The port of the daemon inside its sandbox.
pub const ENVD_PORT: u16 = 49983;

/// How one sandbox is reached; filled from the vendor SDK's `Sandbox` object or by our own owner.
///
/// `Debug` shows no secret; the values of `headers` are left out, as users put credentials there.
#[derive(Clone)]
pub struct SandboxFacts {
    /// The sandbox' id, as the control plane says it.
    pub sandbox_id: String,
    /// Base URL of the daemon, see [`super::url::envd_url`]; a path prefix is kept.
    pub envd_url: String,
    /// The token of a secure sandbox (`X-Access-Token`).
    pub access_token: Option<Secret>,
    /// The token of a sandbox whose traffic is restricted (`e2b-traffic-access-token`).
    pub traffic_token: Option<Secret>,
    /// Further headers for every request, as the SDK's connection options hold them.
    pub headers: Vec<(String, String)>,
    /// The daemon's version as the control plane reports it; may carry a suffix or be empty.
    pub envd_version: String,
    /// The user to run as, when one is configured; else the sandbox decides.
    pub user: Option<String>,
}

impl SandboxFacts {
    /// The user to name in a `Start`: the configured one, or `user` for a daemon older than 0.4.0, which has no default.
    pub fn start_user(&self) -> Option<&str> {
        match &self.user {
            Some(user) => Some(user),
            None => {
                Version::parse(&self.envd_version).is_some_and(|version| version < Version(0, 4, 0)).then_some("user")
            }
        }
    }

    /// The user who shall own an uploaded file.
    pub fn upload_user(&self) -> &str {
        self.user.as_deref().unwrap_or("user")
    }

    /// `text` without any secret of this sandbox.
    pub fn redact(&self, text: String) -> String {
        [&self.access_token, &self.traffic_token].into_iter().flatten().fold(text, |text, secret| secret.redact(text))
    }
}

impl std::fmt::Debug for SandboxFacts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SandboxFacts")
            .field("sandbox_id", &self.sandbox_id)
            .field("envd_url", &self.envd_url)
            .field("access_token", &self.access_token)
            .field("traffic_token", &self.traffic_token)
            .field("headers", &self.headers.iter().map(|(name, _)| name).collect::<Vec<_>>())
            .field("envd_version", &self.envd_version)
            .field("user", &self.user)
            .finish()
    }
}

#[cfg(test)]
pub(crate) fn test_facts(envd_url: String) -> SandboxFacts {
    SandboxFacts {
        sandbox_id: "isandbox".into(),
        envd_url,
        access_token: Some(Secret::new("ea-token-77")),
        traffic_token: None,
        headers: vec![("X-Extra".into(), "extra-value".into())],
        envd_version: "0.6.13".into(),
        user: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_daemon_without_a_default_user_is_told_one() {
        let mut facts = test_facts(String::new());
        for (version, user) in
            [("0.3.9", Some("user")), ("0.2.0", Some("user")), ("0.4.0", None), ("0.6.4-sandlock", None), ("", None)]
        {
            facts.envd_version = version.into();
            assert_eq!(facts.start_user(), user, "{version}");
        }
        facts.user = Some("root".into());
        assert_eq!(facts.start_user(), Some("root"));
    }

    #[test]
    fn c63_the_inspection_of_the_facts_shows_no_secret() {
        let text = format!("{:?}", test_facts(String::new()));
        assert!(!text.contains("ea-token-77") && !text.contains("extra-value"), "{text}");
        assert!(text.contains("X-Extra"));
    }
}
