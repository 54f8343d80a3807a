//! The control plane, as clients of it see it.

#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod support;

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::wait::within;
use support::{KEY, Service, request};

fn instant(value: &Value) -> chrono::DateTime<chrono::FixedOffset> {
    chrono::DateTime::parse_from_rfc3339(value.as_str().unwrap()).unwrap()
}

#[tokio::test]
async fn every_error_is_json_with_the_status_as_code() {
    let service = Service::start(&[]);
    let cases: [(&str, &str, &str, &str, u16); 12] = [
        ("GET", "/sandboxes/iabc", KEY, "", 404),
        ("DELETE", "/sandboxes/iabc", KEY, "", 404),
        ("POST", "/sandboxes/iabc/timeout", KEY, r#"{"timeout":1}"#, 404),
        ("POST", "/sandboxes/iabc/connect", KEY, "{}", 404),
        ("GET", "/sandboxes/I_ABC", KEY, "", 400),
        ("POST", "/sandboxes", KEY, "{", 400),
        ("POST", "/sandboxes", KEY, r#"{"templateID":"base","timeout":0}"#, 400),
        ("POST", "/sandboxes", KEY, r#"{"timeout":10}"#, 400),
        ("PATCH", "/sandboxes", KEY, "", 405),
        ("GET", "/nowhere", KEY, "", 404),
        ("GET", "/v2/sandboxes", "", "", 401),
        ("GET", "/v2/sandboxes", "e2b_XYZ", "", 401),
    ];
    for (method, path, key, body, status) in cases {
        let answer = request(&service.api, method, path, &[("x-api-key", key)], body).await;
        assert_eq!(answer.status, status, "{method} {path} {answer:?}");
        assert_eq!(answer.json()["code"], status, "{method} {path}");
        assert!(!answer.json()["message"].as_str().unwrap().is_empty(), "{method} {path}");
    }
}

#[tokio::test]
async fn with_named_keys_only_those_are_accepted() {
    let service = Service::start(&["--api-key", "e2b_0123", "--api-key", KEY]);
    let ask = async |key| request(&service.api, "GET", "/v2/sandboxes", &[("x-api-key", key)], "").await.status;
    assert_eq!(ask("e2b_0123").await, 200);
    assert_eq!(ask(KEY).await, 200);
    assert_eq!(ask("e2b_0124").await, 401);
}

#[tokio::test]
async fn addresses_that_others_could_reach_are_refused() {
    for option in ["--listen", "--edge-listen"] {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_sandboxd"))
            .args(["serve", option, "0.0.0.0:0"])
            .output()
            .unwrap();
        assert!(!output.status.success(), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("only loopback"), "{output:?}");
    }
}

#[tokio::test]
async fn a_secure_sandbox_tells_its_token_and_wants_it() {
    let service = Service::start(&[]);
    let open = service.sandbox_with(json!({})).await;
    assert_eq!(open["envdAccessToken"], Value::Null);
    let secure = service.sandbox_with(json!({"secure": true, "unknownKey": 1})).await;
    let (id, token) = (secure["sandboxID"].as_str().unwrap(), secure["envdAccessToken"].as_str().unwrap());
    for name in ["templateID", "clientID", "envdVersion"] {
        assert!(secure[name].is_string(), "{name}: {secure}");
    }
    let metrics = async |token: &str| {
        let headers = [("e2b-sandbox-id", id), ("e2b-sandbox-port", "49983"), ("x-access-token", token)];
        request(&service.edge, "GET", "/metrics", &headers, "").await.status
    };
    assert_eq!(metrics(token).await, 200);
    assert_eq!(metrics("wrong").await, 401);
    let detail = service.call("GET", &format!("/sandboxes/{id}"), None).await.json();
    assert_eq!(detail["envdAccessToken"], token);
    // The old composite form names the same sandbox.
    assert_eq!(service.call("GET", &format!("/sandboxes/{id}-6532622b"), None).await.status, 200);
}

#[tokio::test]
async fn variables_of_create_reach_every_process() {
    let service = Service::start(&[]);
    let created = service.sandbox_with(json!({"envVars": {"A": "x y"}, "templateID": "mine"})).await;
    let id = created["sandboxID"].as_str().unwrap();
    let script = "echo $A $E2B_SANDBOX $E2B_SANDBOX_ID $E2B_TEMPLATE_ID";
    assert_eq!(service.run_in(id, "user", script).await, (0, format!("x y true {id} mine\n")));
}

#[tokio::test]
async fn deadlines_act_and_move_as_asked() {
    let service = Service::start(&[]);
    let id = service.sandbox_with(json!({"timeout": 1})).await["sandboxID"].as_str().unwrap().to_owned();
    let path = format!("/sandboxes/{id}");
    let end_at = async || instant(&service.call("GET", &path, None).await.json()["endAt"]);
    // Longer by connect …
    let answer = service.call("POST", &format!("{path}/connect"), Some(json!({"timeout": 30}))).await;
    assert_eq!(answer.status, 200);
    let long = end_at().await;
    // … never shorter by connect: the very same instant …
    service.call("POST", &format!("{path}/connect"), Some(json!({"timeout": 5}))).await;
    assert_eq!(end_at().await, long);
    // … but by timeout, which acts.
    let before = Instant::now();
    let answer = service.call("POST", &format!("{path}/timeout"), Some(json!({"timeout": 1}))).await;
    assert_eq!(answer.status, 204);
    assert!(end_at().await < long);
    within("the deadline acts", async {
        while service.call("GET", &path, None).await.status == 200 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    assert!(before.elapsed() >= Duration::from_millis(990), "{:?}", before.elapsed());
    assert_eq!(service.call("GET", &path, None).await.json()["code"], 404);
}

#[tokio::test]
async fn a_timeout_of_zero_ends_now_and_one_too_long_is_refused_at_create() {
    let service = Service::start(&["--max-timeout", "100"]);
    let refused = service.call("POST", "/sandboxes", Some(json!({"templateID": "base", "timeout": 101}))).await;
    assert_eq!(refused.status, 400);
    let id = service.sandbox().await;
    let path = format!("/sandboxes/{id}");
    assert_eq!(service.call("POST", &format!("{path}/timeout"), Some(json!({"timeout": 0}))).await.status, 204);
    within("it ends", async {
        while service.call("GET", &path, None).await.status == 200 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn lists_are_filtered_and_paged() {
    let service = Service::start(&[]);
    let mut ids = Vec::new();
    for (template, kind) in [("base", "a b"), ("base", "c&d"), ("other", "a b")] {
        let created = service.sandbox_with(json!({"templateID": template, "metadata": {"kind": kind}})).await;
        ids.push(created["sandboxID"].as_str().unwrap().to_owned());
    }
    let list = async |query: &str| {
        let answer = service.call("GET", &format!("/v2/sandboxes?{query}"), None).await;
        assert_eq!(answer.status, 200, "{query}: {answer:?}");
        let found: Vec<String> = answer
            .json()
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["sandboxID"].as_str().unwrap().to_owned())
            .collect();
        (found, answer.headers.get("x-next-token").map(|token| token.to_str().unwrap().to_owned()))
    };
    let newest_first: Vec<String> = ids.iter().rev().cloned().collect();
    assert_eq!(list("").await, (newest_first.clone(), None));
    assert_eq!(list("order=asc").await.0, ids);
    assert_eq!(list("template=other").await.0, [ids[2].clone()]);
    assert_eq!(list("template=none").await.0, Vec::<String>::new());
    assert_eq!(list("metadata=kind%3Da%252520b").await.0, [ids[2].clone(), ids[0].clone()]);
    assert_eq!(list("metadata=kind%3Dc%252526d").await.0, [ids[1].clone()]);
    let (first, next) = list("limit=2").await;
    assert_eq!(first, newest_first[..2]);
    let (second, last) = list(&format!("limit=2&nextToken={}", next.unwrap())).await;
    assert_eq!((second, last), (newest_first[2..].to_vec(), None));
    assert_eq!(service.call("POST", &format!("/sandboxes/{}/pause", ids[0]), None).await.status, 204);
    assert_eq!(list("state=paused").await.0, [ids[0].clone()]);
    assert_eq!(list("state=running").await.0, newest_first[..2]);
    assert_eq!(list("state=running%2Cpaused").await.0, newest_first);
    let started = service.call("GET", &format!("/sandboxes/{}", ids[1]), None).await.json()["startedAt"].clone();
    let since = started.as_str().unwrap().replace('+', "%2B");
    assert_eq!(list(&format!("startedAfter={since}")).await.0, newest_first[..2], "inclusive");
    assert_eq!(service.call("GET", "/v2/sandboxes?limit=0", None).await.status, 400);
}

#[tokio::test]
async fn a_paused_sandbox_stands_still_and_goes_on() {
    let service = Service::start(&[]);
    let id = service.sandbox().await;
    let path = format!("/sandboxes/{id}");
    let headers = [("e2b-sandbox-id", id.as_str()), ("e2b-sandbox-port", "49983")];
    let mut ticker = service.start_in(&id, "user", "while :; do echo x >> ticks; echo x; sleep 0.02; done").await;
    ticker.output().await;
    assert_eq!(service.call("POST", &format!("{path}/pause"), None).await.status, 204);
    assert_eq!(service.call("POST", &format!("{path}/pause"), None).await.status, 409);
    assert_eq!(service.call("GET", &path, None).await.json()["state"], "paused");
    assert_eq!(request(&service.edge, "GET", "/health", &headers, "").await.status, 502);
    let broken = within("the stream is cut", async {
        while let Ok(Some(_)) = ticker.event().await {}
        ticker.event().await
    });
    assert!(!matches!(broken.await, Ok(Some(_))));
    // Under load a process may take a moment to see its signal.
    support::wait::until("the daemon is stopped", || {
        let stats = support::processes::with_mark(&id).into_iter();
        let mut stats = stats.map(|pid| std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default());
        stats.any(|stat| stat.contains("(envd) T "))
    })
    .await;
    let answer = service.call("POST", &format!("{path}/connect"), Some(json!({"timeout": 60}))).await;
    assert_eq!(answer.status, 201);
    let (_, before) = service.run_in(&id, "user", "wc -l < ticks").await;
    let (code, after) = service
        .run_in(&id, "user", "n=$(wc -l < ticks); while [ $(wc -l < ticks) = $n ]; do sleep 0.01; done; wc -l < ticks")
        .await;
    assert_eq!(code, 0);
    assert!(after.trim().parse::<u64>().unwrap() > before.trim().parse::<u64>().unwrap());
    assert_eq!(service.call("POST", &format!("{path}/connect"), Some(json!({"timeout": 60}))).await.status, 200);
    assert_eq!(service.call("POST", &format!("{path}/pause"), None).await.status, 204);
    assert_eq!(service.call("DELETE", &path, None).await.status, 204, "a paused one can be killed");
}

#[tokio::test]
async fn a_request_wakes_a_sandbox_that_pauses_by_itself() {
    let service = Service::start(&[]);
    let created = service.sandbox_with(json!({"timeout": 1, "autoPause": true, "autoResume": {"enabled": true}})).await;
    let id = created["sandboxID"].as_str().unwrap();
    let path = format!("/sandboxes/{id}");
    within("it pauses", async {
        while service.call("GET", &path, None).await.json()["state"] != "paused" {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    let headers = [("e2b-sandbox-id", id), ("e2b-sandbox-port", "49983")];
    assert_eq!(request(&service.edge, "GET", "/health", &headers, "").await.status, 204);
    assert_eq!(service.call("GET", &path, None).await.json()["state"], "running");
}

#[tokio::test]
async fn metrics_have_a_first_sample_soon_and_none_of_before() {
    let service = Service::start(&[]);
    let id = service.sandbox().await;
    let samples = async |query: &str| {
        service.call("GET", &format!("/sandboxes/{id}/metrics{query}"), None).await.json().as_array().unwrap().clone()
    };
    let first = within("a sample", async {
        loop {
            if let Some(sample) = samples("").await.first() {
                return sample.clone();
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    for name in ["cpuCount", "memUsed", "memTotal", "memCache", "diskUsed", "diskTotal", "timestampUnix"] {
        assert!(first[name].as_u64().is_some(), "{name}: {first}");
    }
    assert!(first["memTotal"].as_u64().unwrap() > 0 && first["cpuUsedPct"].is_number(), "{first}");
    instant(&first["timestamp"]);
    assert!(samples("?start=0&end=1000").await.is_empty());
}

#[tokio::test]
async fn the_debug_mode_serves_one_sandbox_without_a_token_whatever_is_asked_for() {
    let service = Service::start(&["--debug-port", "0"]);
    let address = service.ready["debugUrl"].as_str().unwrap().trim_start_matches("http://").to_owned();
    let headers = [("e2b-sandbox-id", "debug_sandbox_id"), ("e2b-sandbox-port", "49983")];
    assert_eq!(request(&address, "GET", "/health", &headers, "").await.status, 204);
    let running = support::connect::start(&address, "anything", "user", "id -un").await;
    assert_eq!(running.finish().await, (0, "user\n".to_owned()));
}
