//! Who may do what.

use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::daemon::Daemon;

const TOKEN: (&str, &str) = ("x-access-token", "secret");

async fn secured() -> Daemon {
    let daemon = Daemon::start().await;
    let settings = json!({"accessToken": "secret", "envVars": {"A": "1"}}).to_string();
    let reply = daemon.call("POST", "/init", &[], settings).await;
    assert_eq!((reply.status.as_u16(), reply.header("x-envd-version")), (204, Some("0.6.13")));
    daemon
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_token_everything_but_health_files_and_init_wants_it() {
    let daemon = secured().await;
    let json = ("content-type", "application/json");
    let calls = [
        ("POST", "/process.Process/List", "{}"),
        ("GET", "/metrics", ""),
        ("GET", "/envs", ""),
        ("POST", "/files/compose", "{}"),
    ];
    for (method, path, body) in calls {
        for headers in [&[json][..], &[json, ("x-access-token", "wrong")][..]] {
            let reply = daemon.call(method, path, headers, body).await;
            assert_eq!((reply.status.as_u16(), &reply.json()["code"]), (401, &json!(401)), "{path}");
        }
        let reply = daemon.call(method, path, &[json, TOKEN], body).await;
        assert_ne!(reply.status, 401, "{path}");
    }
    assert_eq!(daemon.call("GET", "/health", &[], "").await.status, 204);
    let envs = daemon.call("GET", "/envs", &[TOKEN], "").await;
    assert_eq!(envs.json(), json!({"A": "1", "E2B_SANDBOX": "true"}));
}

#[tokio::test(flavor = "multi_thread")]
async fn files_take_the_token_or_a_signature_and_say_what_is_wrong() {
    let daemon = secured().await;
    let path = "/etc/passwd";
    let signature = |operation: &str, expiration: &str| {
        let digest = Sha256::digest(format!("{path}:{operation}::secret{expiration}"));
        let text = format!("v1_{}", STANDARD_NO_PAD.encode(digest));
        text.replace('+', "%2B").replace('/', "%2F")
    };
    let get = async |query: String, headers: &[(&str, &str)]| {
        let reply = daemon.call("GET", &format!("/files?path={path}{query}"), headers, "").await;
        let message = if reply.status == 200 { String::new() } else { reply.json()["message"].to_string() };
        (reply.status.as_u16(), message)
    };
    let good = format!("&signature={}", signature("read", ""));
    assert_eq!(get(String::new(), &[TOKEN]).await.0, 200);
    assert_eq!(get(good.clone(), &[]).await.0, 200);
    let refused = [
        (good, &[("x-access-token", "wrong")][..], "does not match"),
        (String::new(), &[][..], "missing signature query parameter"),
        (format!("&signature={}", signature("write", "")), &[][..], "invalid signature"),
        (
            format!("&signature={}&signature_expiration=1", signature("read", ":1")),
            &[][..],
            "signature is already expired",
        ),
    ];
    for (query, headers, reason) in refused {
        let (status, message) = get(query, headers).await;
        assert_eq!(status, 401);
        assert!(message.contains(reason), "{message}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_can_be_kept_but_neither_changed_nor_dropped_without_it() {
    let daemon = secured().await;
    let init = async |body: &'static str| daemon.call("POST", "/init", &[], body).await.status.as_u16();
    assert_eq!(init(r#"{"accessToken":"other"}"#).await, 401);
    assert_eq!(init("{}").await, 401);
    assert_eq!(init(r#"{"accessToken":""}"#).await, 400);
    assert_eq!(init(r#"{"accessToken":"secret"}"#).await, 204);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_user_is_unauthenticated_in_every_kind_of_call() {
    let daemon = Daemon::start().await;
    // nobody-of-this-name:
    let basic = ("authorization", "Basic bm9ib2R5LW9mLXRoaXMtbmFtZTo=");
    let json = ("content-type", "application/json");
    let reply = daemon.call("POST", "/process.Process/List", &[json, basic], "{}").await;
    assert_eq!((reply.status.as_u16(), &reply.json()["code"]), (401, &json!("unauthenticated")));
    let mut events = daemon.stream("process.Process/Start", json!({"process": {"cmd": "true"}}), &[basic]).await;
    assert_eq!(events.error().await, "unauthenticated");
}
