//! The control plane's answers, read.

use serde::{Deserialize, de::DeserializeOwned};

use super::error::OwnerError;
use crate::{
    envd::{Reply, Secret},
    text::shorten,
};

/// `error_code`s that mean: no node took the sandbox.
const PLACEMENT: [&str; 4] =
    [NO_CAPACITY, "sandbox_placement_timeout", "sandbox_no_compatible_node", "sandbox_create_failed"];
/// The placement failure of which the control plane says that nothing was started anywhere.
pub(super) const NO_CAPACITY: &str = "sandbox_capacity_unavailable";

/// A sandbox as `create` and `connect` describe it.
#[derive(Clone, Debug)]
pub struct Created {
    /// Its id.
    pub sandbox_id: String,
    /// The domain that routes to it, if the control plane names one.
    pub domain: Option<String>,
    /// Its daemon's version.
    pub envd_version: String,
    /// The daemon's token.
    pub access_token: Option<Secret>,
    /// The token for ports whose traffic is restricted.
    pub traffic_token: Option<Secret>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    #[serde(rename = "sandboxID")]
    sandbox_id: String,
    domain: Option<String>,
    #[serde(default)]
    envd_version: String,
    envd_access_token: Option<String>,
    traffic_access_token: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Refusal {
    code: serde_json::Value,
    message: Option<String>,
    error_code: Option<String>,
}

/// Reads a sandbox. The error does not quote the body: it holds the token.
pub(super) fn created(reply: &Reply) -> Result<Created, OwnerError> {
    let wire: Wire = json(reply)?;
    let filled = |text: Option<String>| text.filter(|text| !text.is_empty());
    if wire.sandbox_id.is_empty() {
        return Err(OwnerError::Protocol("a sandbox without an id".into()));
    }
    Ok(Created {
        sandbox_id: wire.sandbox_id,
        domain: filled(wire.domain),
        envd_version: wire.envd_version,
        access_token: filled(wire.envd_access_token).map(Secret::new),
        traffic_token: filled(wire.traffic_access_token).map(Secret::new),
    })
}

fn json<T: DeserializeOwned>(reply: &Reply) -> Result<T, OwnerError> {
    serde_json::from_slice(&reply.body).map_err(|error| {
        // Where it stopped and what it wanted, never what it found.
        OwnerError::Protocol(format!("no such object ({:?} at column {})", error.classify(), error.column()))
    })
}

/// The typed error for an answer that is no success.
pub(super) fn error(reply: &Reply, redact: impl Fn(String) -> String) -> OwnerError {
    let Refusal { code, message, error_code } = refusal(reply);
    let status = reply.status.as_u16();
    let text = message.unwrap_or_else(|| String::from_utf8_lossy(&reply.body).trim().to_owned());
    let text = if text.is_empty() { format!("HTTP status {status}") } else { text };
    let message = shorten(redact(text));
    let error_code = error_code.map(|code| shorten(redact(code)));
    match (status, error_code) {
        (_, Some(error_code)) if PLACEMENT.contains(&error_code.as_str()) => {
            OwnerError::Placement { status, error_code, message }
        }
        (401, _) => OwnerError::Unauthorized(message),
        (403, _) => OwnerError::Forbidden(message),
        // The number in its JSON: a proxy in between answers 404 too.
        (404, _) if code.as_u64() == Some(404) => OwnerError::NotFound(message),
        (429, _) => OwnerError::RateLimited { message, retry_after: reply.retry_after },
        (500.., error_code) => OwnerError::Server { status, error_code, message },
        (_, error_code) => OwnerError::Refused { status, error_code, message },
    }
}

fn refusal(reply: &Reply) -> Refusal {
    serde_json::from_slice(&reply.body).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

    use std::time::Duration;

    use http::StatusCode;

    use super::*;
    use crate::envd::test_noise::{Noise, cases};

    fn reply(status: u16, body: &str) -> Reply {
        let retry_after = (status == 429).then(|| Duration::from_secs(3));
        Reply { status: StatusCode::from_u16(status).unwrap(), retry_after, body: body.to_owned().into() }
    }

    fn of(status: u16, body: &str) -> OwnerError {
        error(&reply(status, body), |text| text)
    }

    #[test]
    fn c61_each_refusal_has_its_type() {
        let said = r#"{"code":0,"message":"m"}"#;
        assert_eq!(of(401, said), OwnerError::Unauthorized("m".into()));
        assert_eq!(of(403, said), OwnerError::Forbidden("m".into()));
        assert_eq!(of(404, r#"{"code":404,"message":"m"}"#), OwnerError::NotFound("m".into()));
        let limited = OwnerError::RateLimited { message: "m".into(), retry_after: Some(Duration::from_secs(3)) };
        assert_eq!(of(429, said), limited);
        assert_eq!(of(400, said), OwnerError::Refused { status: 400, error_code: None, message: "m".into() });
        assert_eq!(of(502, "<p>"), OwnerError::Server { status: 502, error_code: None, message: "<p>".into() });
    }

    #[test]
    fn c61_a_404_of_a_proxy_is_not_the_control_planes_word() {
        assert!(matches!(of(404, "page not found"), OwnerError::Refused { status: 404, .. }));
        assert!(matches!(of(404, ""), OwnerError::Refused { status: 404, .. }));
    }

    #[test]
    fn c61_placement_failures_are_told_by_their_code_whatever_the_status() {
        for status in [500, 503, 504] {
            let error = of(status, r#"{"code":503,"message":"m","error_code":"sandbox_capacity_unavailable"}"#);
            let code = NO_CAPACITY.to_owned();
            assert_eq!(error, OwnerError::Placement { status, error_code: code, message: "m".into() });
        }
        let other = of(500, r#"{"message":"m","error_code":"internal_server_error"}"#);
        assert!(matches!(other, OwnerError::Server { error_code: Some(code), .. } if code == "internal_server_error"));
    }

    #[test]
    fn c63_an_answer_that_makes_no_sense_is_not_quoted() {
        let bad = reply(201, r#"{"sandboxID":7,"envdAccessToken":"ea-secret"}"#);
        let text = created(&bad).unwrap_err().to_string();
        assert!(!text.contains("ea-secret"), "{text}");
        let good =
            created(&reply(201, r#"{"sandboxID":"i","envdVersion":"1","envdAccessToken":"ea-secret"}"#)).unwrap();
        assert!(!format!("{good:?}").contains("ea-secret"));
        assert_eq!(good.access_token.unwrap().expose(), "ea-secret");
    }

    #[test]
    fn c61_c63_any_answer_is_a_sandbox_or_an_error_that_is_short_and_without_the_token() {
        let bodies = [
            r#"{"sandboxID":"i","envdVersion":"0.6.13","envdAccessToken":"ea-secret","domain":null}"#,
            r#"{"code":429,"message":"slow down","error_code":"x"}"#,
            r#"{"code":404,"message":"m"}"#,
        ];
        let mut noise = Noise(0x0C0F_FEE5);
        let (mut good, mut bad) = (0_u64, 0_u64);
        for case in 0..cases() {
            let mut body = noise.one(&bodies).as_bytes().to_vec();
            noise.damage(&mut body);
            let status = StatusCode::from_u16([201, 400, 404, 429, 503][noise.below(5)]).unwrap();
            let reply = Reply { status, retry_after: None, body: body.into() };
            match created(&reply) {
                Ok(_) => good += 1,
                Err(error) => {
                    bad += 1;
                    assert!(!error.to_string().contains("ea-secret"), "case {case}");
                }
            }
            let text = super::error(&reply, |text| text).to_string();
            assert!(text.len() < 3 * crate::text::MAX_TEXT, "case {case}: {}", text.len());
        }
        assert!(good > cases() / 20 && bad > cases() / 4, "{good} {bad}");
    }

    #[test]
    fn an_empty_domain_is_none() {
        let good = created(&reply(201, r#"{"sandboxID":"i","envdVersion":"1","domain":""}"#)).unwrap();
        assert_eq!((good.domain, good.access_token.is_none()), (None, true));
    }
}
