//! Headers that concern one connection only.

use http::{HeaderMap, HeaderName, HeaderValue, header};

const HOP: &[HeaderName] = &[
    header::CONNECTION,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Removes what must not be passed on (RFC 9110, 7.6.1), except an upgrade if asked to keep it.
pub fn strip_hop_by_hop(headers: &mut HeaderMap, keep_upgrade: bool) {
    let upgrade = headers.get(header::UPGRADE).cloned().filter(|_| keep_upgrade);
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named.iter().chain(HOP) {
        headers.remove(name);
    }
    headers.remove("keep-alive");
    headers.remove("proxy-connection");
    if let Some(upgrade) = upgrade {
        headers.insert(header::UPGRADE, upgrade);
        headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "the inputs are constants")]

    use super::*;

    #[test]
    fn headers_named_by_connection_go_too() {
        let mut headers: HeaderMap = [("connection", "close, x-hop"), ("x-hop", "1"), ("x-end", "2")]
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .into_iter()
            .collect();
        strip_hop_by_hop(&mut headers, false);
        assert_eq!(headers.len(), 1);
        assert!(headers.contains_key("x-end"));
    }

    #[test]
    fn an_upgrade_stays_only_where_it_is_wanted() {
        let make = || -> HeaderMap {
            [("connection", "keep-alive, Upgrade"), ("upgrade", "websocket")]
                .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
                .into_iter()
                .collect()
        };
        let (mut kept, mut gone) = (make(), make());
        strip_hop_by_hop(&mut kept, true);
        strip_hop_by_hop(&mut gone, false);
        assert_eq!(kept.get("upgrade").unwrap(), "websocket");
        assert_eq!(kept.get("connection").unwrap(), "upgrade");
        assert!(gone.is_empty());
    }
}
