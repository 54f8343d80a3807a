//! C62: where the control plane and a sandbox' daemon are, by the vendor SDK's rules.

use super::facts::ENVD_PORT;

/// The settings that decide the URLs: options of the caller first, then the environment.
#[derive(Clone, Debug, Default)]
pub struct UrlSettings {
    /// Option `apiUrl` or `E2B_API_URL`.
    pub api_url: Option<String>,
    /// Option `sandboxUrl` or `E2B_SANDBOX_URL`.
    pub sandbox_url: Option<String>,
    /// Option `domain` or `E2B_DOMAIN`; may carry a port.
    pub domain: Option<String>,
    /// Option `debug` or `E2B_DEBUG=true`: everything on this machine.
    pub debug: bool,
}

/// Domains whose edge routes by headers alone.
const HEADER_ROUTED: [&str; 4] = ["e2b.app", "e2b.dev", "e2b.pro", "e2b-staging.dev"];
const DEFAULT_DOMAIN: &str = "e2b.app";

impl UrlSettings {
    /// Fills what the caller left open from the environment; empty variables count as unset.
    pub fn or_environment(self, variable: impl Fn(&str) -> Option<String>) -> Self {
        let read = |name| variable(name).filter(|value| !value.is_empty());
        Self {
            api_url: self.api_url.or_else(|| read("E2B_API_URL")),
            sandbox_url: self.sandbox_url.or_else(|| read("E2B_SANDBOX_URL")),
            domain: self.domain.or_else(|| read("E2B_DOMAIN")),
            debug: self.debug || read("E2B_DEBUG").is_some_and(|value| value.eq_ignore_ascii_case("true")),
        }
    }

    fn domain(&self) -> &str {
        self.domain.as_deref().unwrap_or(DEFAULT_DOMAIN)
    }
}

/// Base URL of the control plane.
pub fn api_url(settings: &UrlSettings) -> String {
    match &settings.api_url {
        Some(url) => url.clone(),
        None if settings.debug => "http://localhost:3000".into(),
        None => format!("https://api.{}", settings.domain()),
    }
}

/// Base URL of the daemon of `sandbox_id`; `sandbox_domain` is what the control plane said for this sandbox.
pub fn envd_url(settings: &UrlSettings, sandbox_id: &str, sandbox_domain: Option<&str>) -> String {
    if let Some(url) = &settings.sandbox_url {
        return url.clone();
    }
    if settings.debug {
        return format!("http://localhost:{ENVD_PORT}");
    }
    let domain = sandbox_domain.filter(|domain| !domain.is_empty()).unwrap_or_else(|| settings.domain());
    if HEADER_ROUTED.contains(&domain) {
        return format!("https://sandbox.{domain}");
    }
    format!("https://{ENVD_PORT}-{sandbox_id}.{domain}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(pairs: &[(&str, &str)]) -> UrlSettings {
        UrlSettings::default()
            .or_environment(|name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn c62_without_any_setting_the_vendors_own_domain_is_used() {
        let none = from(&[]);
        assert_eq!(api_url(&none), "https://api.e2b.app");
        assert_eq!(envd_url(&none, "i1", None), "https://sandbox.e2b.app");
    }

    #[test]
    fn c62_a_domain_that_does_not_route_by_headers_gets_the_sandbox_in_its_host_name() {
        let own = from(&[("E2B_DOMAIN", "sandbox.example:8443")]);
        assert_eq!(api_url(&own), "https://api.sandbox.example:8443");
        assert_eq!(envd_url(&own, "i1", None), "https://49983-i1.sandbox.example:8443");
        assert_eq!(envd_url(&own, "i1", Some("e2b.dev")), "https://sandbox.e2b.dev");
    }

    #[test]
    fn c62_explicit_urls_win_over_debug_and_debug_over_the_domain() {
        let all = [("E2B_DEBUG", "TRUE"), ("E2B_DOMAIN", "x.y")];
        assert_eq!(api_url(&from(&all)), "http://localhost:3000");
        assert_eq!(envd_url(&from(&all), "i1", Some("x.y")), "http://localhost:49983");
        let urls =
            [("E2B_API_URL", "http://127.0.0.1:1"), ("E2B_SANDBOX_URL", "http://127.0.0.1:2/p"), ("E2B_DEBUG", "true")];
        assert_eq!(api_url(&from(&urls)), "http://127.0.0.1:1");
        assert_eq!(envd_url(&from(&urls), "i1", None), "http://127.0.0.1:2/p");
    }

    #[test]
    fn c62_an_option_wins_over_its_variable_and_an_empty_variable_is_none() {
        let settings = UrlSettings { domain: Some("a.b".into()), ..Default::default() }
            .or_environment(|name| Some(if name == "E2B_DOMAIN" { "c.d" } else { "" }.to_owned()));
        assert_eq!(api_url(&settings), "https://api.a.b");
        assert!(!settings.debug);
    }
}
