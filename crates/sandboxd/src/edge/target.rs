//! Which sandbox and port a request is for.

use http::{HeaderMap, Uri, header};

use super::DAEMON_PORT;

/// The destination of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The sandbox' id, existing or not.
    pub sandbox: String,
    /// The port in it.
    pub port: u16,
}

/// What the request says about its destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Named {
    /// A sandbox and a port.
    Target(Target),
    /// Nothing at all.
    Nothing,
    /// Something that makes no sense, in words.
    Nonsense(&'static str),
}

/// Reads the destination off host name or headers.
pub fn named(uri: &Uri, headers: &HeaderMap) -> Named {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    // HTTP/2 has the host in the URI.
    let host = uri.host().or_else(|| text(header::HOST.as_str())).unwrap_or_default();
    if let Some(target) = by_host(host) {
        return Named::Target(target);
    }
    match (text("e2b-sandbox-id"), text("e2b-sandbox-port")) {
        (None, None) => Named::Nothing,
        (Some(_), None) => Named::Nonsense("missing header E2b-Sandbox-Port"),
        (None, Some(_)) => Named::Nonsense("missing header E2b-Sandbox-Id"),
        (Some(sandbox), Some(port)) => match port.parse() {
            Ok(port) => Named::Target(Target { sandbox: sandbox.to_owned(), port }),
            Err(_) => Named::Nonsense("E2b-Sandbox-Port is not a port"),
        },
    }
}

/// `PORT-SANDBOX.domain`.
fn by_host(host: &str) -> Option<Target> {
    let (label, domain) = host.split_once('.')?;
    let (port, sandbox) = label.split_once('-')?;
    let plain = !sandbox.is_empty() && sandbox.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    (plain && !domain.is_empty()).then_some(())?;
    Some(Target { sandbox: sandbox.to_owned(), port: port.parse().ok()? })
}

/// Whether only the service itself may call this route of the daemon.
pub fn is_private(target: &Target, path: &str) -> bool {
    const PRIVATE: &[&str] = &["/init", "/freeze", "/unfreeze", "/fsfreeze", "/fsthaw", "/collapse", "/upgrade"];
    target.port == DAEMON_PORT && PRIVATE.contains(&path)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "the inputs are constants")]

    use super::*;

    fn ask(uri: &str, pairs: &[(&'static str, &str)]) -> Named {
        let headers = pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
        named(&uri.parse().unwrap(), &headers)
    }

    fn target(sandbox: &str, port: u16) -> Named {
        Named::Target(Target { sandbox: sandbox.to_owned(), port })
    }

    #[test]
    fn the_host_name_names_port_and_sandbox() {
        assert_eq!(ask("/", &[("host", "8080-iabc.sbx.localhost:9443")]), target("iabc", 8080));
        assert_eq!(ask("http://49983-iabc.e2b.app/x", &[]), target("iabc", 49983));
    }

    #[test]
    fn an_address_as_host_leaves_it_to_the_headers() {
        let pairs = [("host", "127.0.0.1:9210"), ("e2b-sandbox-id", "iabc"), ("e2b-sandbox-port", "49983")];
        assert_eq!(ask("/", &pairs), target("iabc", 49983));
        assert_eq!(ask("/files?path=a", &pairs[..1]), Named::Nothing);
    }

    #[test]
    fn half_a_pair_of_headers_or_a_wordy_port_makes_no_sense() {
        assert!(matches!(ask("/", &[("e2b-sandbox-id", "iabc")]), Named::Nonsense(_)));
        assert!(matches!(ask("/", &[("e2b-sandbox-port", "1")]), Named::Nonsense(_)));
        assert!(matches!(ask("/", &[("e2b-sandbox-id", "i"), ("e2b-sandbox-port", "http")]), Named::Nonsense(_)));
    }

    #[test]
    fn only_the_daemon_has_private_routes() {
        let at = |port| Target { sandbox: "i".to_owned(), port };
        assert!(is_private(&at(49983), "/init"));
        assert!(!is_private(&at(49983), "/health"));
        assert!(!is_private(&at(80), "/init"));
    }
}
