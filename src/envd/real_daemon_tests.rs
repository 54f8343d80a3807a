//! Against a real daemon. Set `DSH_TEST_ENVD_URL` to its base URL (and `DSH_TEST_ENVD_TOKEN`, `DSH_TEST_ENVD_SANDBOX` for one behind an
//! edge) and run with `--ignored`.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::{env, io::Write as _, time::Duration};

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use tokio::time::timeout;

use super::{Envd, Error, Event, Output, SandboxFacts, Secret, Start, Upload};

const LIMIT: Duration = Duration::from_secs(30);

pub(crate) fn real_facts() -> SandboxFacts {
    SandboxFacts {
        sandbox_id: env::var("DSH_TEST_ENVD_SANDBOX").unwrap_or_else(|_| "itest".into()),
        envd_url: env::var("DSH_TEST_ENVD_URL").unwrap(),
        access_token: env::var("DSH_TEST_ENVD_TOKEN").ok().map(Secret::new),
        traffic_token: None,
        headers: Vec::new(),
        envd_version: "0.6.13".into(),
        user: None,
    }
}

fn sh(script: &str) -> Start {
    Start { cmd: "/bin/sh".into(), args: vec!["-c".into(), script.into()], ..Default::default() }
}

async fn all(mut output: Output) -> (Vec<u8>, Vec<u8>, i32) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    loop {
        match timeout(LIMIT, output.next()).await.unwrap().unwrap().unwrap() {
            Event::Stdout(bytes) => out.extend_from_slice(&bytes),
            Event::Stderr(bytes) => err.extend_from_slice(&bytes),
            Event::Ended(ended) => {
                assert_eq!(output.next().await.unwrap(), None);
                return (out, err, ended.exit_code);
            }
        }
    }
}

async fn read_until(output: &mut Output, want: &[u8]) {
    let mut got = Vec::new();
    while got.len() < want.len() {
        match timeout(LIMIT, output.next()).await.unwrap().unwrap().unwrap() {
            Event::Stdout(bytes) => got.extend_from_slice(&bytes),
            other => panic!("{other:?} after {got:?}"),
        }
    }
    assert_eq!(got, want);
}

#[tokio::test]
#[ignore = "needs a real daemon"]
async fn both_streams_and_the_exit_code_come_complete() {
    let envd = Envd::new(real_facts()).unwrap();
    for _ in 0..20 {
        let started = envd.start(sh("seq 1 20000; seq 1 20000 >&2; exit 3")).await.unwrap();
        assert!(started.pid > 1);
        let (out, err, code) = all(started.output).await;
        assert_eq!((out.len(), err.len(), code), (108_894, 108_894, 3));
    }
}

#[tokio::test]
#[ignore = "needs a real daemon"]
async fn arguments_directory_and_environment_arrive_as_given() {
    let envd = Envd::new(real_facts()).unwrap();
    let mut start = sh("printf '%s|%s|%s' \"$PWD\" \"$X\" \"$1\"");
    start.args.extend(["sh".into(), "a'\"\\ $x €".into()]);
    start.cwd = Some("/usr".into());
    start.envs.insert("X".into(), "v=1\n2".into());
    assert_eq!(all(envd.start(start).await.unwrap().output).await.0, "/usr|v=1\n2|a'\"\\ $x €".as_bytes());
}

#[tokio::test]
#[ignore = "needs a real daemon"]
async fn a_stream_of_input_is_echoed_while_it_is_open() {
    let envd = Envd::new(real_facts()).unwrap();
    let mut cat = envd.start(sh("exec cat")).await.unwrap();
    let (sink, outcome) = envd.stream_input(cat.pid);
    for round in 0..200 {
        let line = format!("line {round}\n").into_bytes();
        sink.send(Bytes::from(line.clone())).await.unwrap();
        read_until(&mut cat.output, &line).await;
    }
    drop(sink);
    timeout(LIMIT, outcome).await.unwrap().unwrap();
    envd.kill(cat.pid).await.unwrap();
    assert_eq!(all(cat.output).await.2, -1);
}

#[tokio::test]
#[ignore = "needs a real daemon"]
async fn single_inputs_arrive_in_order_and_other_outputs_do_not_block_them() {
    let envd = Envd::new(real_facts()).unwrap();
    let unread = envd.start(sh("yes")).await.unwrap();
    let mut cat = envd.start(sh("exec cat")).await.unwrap();
    for round in 0..50 {
        let line = format!("{round}\n").into_bytes();
        envd.send_input(cat.pid, Bytes::from(line.clone())).await.unwrap();
        read_until(&mut cat.output, &line).await;
    }
    envd.kill(unread.pid).await.unwrap();
    envd.kill(cat.pid).await.unwrap();
}

#[tokio::test]
#[ignore = "needs a real daemon"]
async fn an_unknown_process_is_told_as_such() {
    let envd = Envd::new(real_facts()).unwrap();
    let error = envd.send_input(4_000_000, Bytes::from_static(b"x")).await.unwrap_err();
    assert!(matches!(error, Error::NotFound(_)), "{error:?}");
    let (sink, outcome) = envd.stream_input(4_000_000);
    drop(sink);
    let error = timeout(LIMIT, outcome).await.unwrap().unwrap_err();
    assert!(matches!(error, Error::NotFound(_)), "{error:?}");
}

#[tokio::test]
#[ignore = "needs a real daemon"]
async fn a_missing_directory_is_refused_and_a_missing_program_exits_127() {
    let envd = Envd::new(real_facts()).unwrap();
    let nowhere = Start { cwd: Some("/no/such/place".into()), ..sh("true") };
    assert!(matches!(envd.start(nowhere).await.unwrap_err(), Error::Invalid(_)));
    let started = envd.start(Start { cmd: "/no/such/program".into(), ..Default::default() }).await.unwrap();
    assert_eq!(all(started.output).await.2, 127);
}

#[tokio::test]
#[ignore = "needs a real daemon"]
async fn both_forms_of_upload_store_the_same_bytes_for_the_sandboxes_user() {
    let envd = Envd::new(real_facts()).unwrap();
    let content: Vec<u8> = (0..300_000u32).flat_map(u32::to_le_bytes).collect();
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(&content).unwrap();
    let path = format!("/tmp/dsh upload-{}/ä&b", std::process::id());
    for upload in [Upload::Gzip(gzip.finish().unwrap().into()), Upload::Form(content.clone().into())] {
        envd.upload(&path, upload).await.unwrap();
        let mut cat = sh("stat -c %U \"$1\" && cat \"$1\"");
        cat.args.extend(["sh".into(), path.clone()]);
        let (out, err, code) = all(envd.start(cat).await.unwrap().output).await;
        assert_eq!((code, err.len()), (0, 0));
        assert!(out == [b"user\n".as_slice(), &content].concat());
        envd.remove(&path).await.unwrap();
    }
    envd.remove(path.rsplit_once('/').unwrap().0).await.unwrap();
    envd.remove(&path).await.unwrap();
}

#[tokio::test]
#[ignore = "needs a real daemon"]
async fn json_gives_the_same_bytes_as_binary() {
    let envd = Envd::new(real_facts()).unwrap();
    envd.force_json();
    let started = envd
        .start(sh("f=$(mktemp) && head -c 3000000 /dev/urandom >$f && cat $f && cat $f >&2 && rm $f"))
        .await
        .unwrap();
    let (out, err, code) = all(started.output).await;
    assert_eq!((out.len(), code), (3_000_000, 0));
    assert!(out == err);
    let mut cat = envd.start(sh("exec cat")).await.unwrap();
    let (sink, _outcome) = envd.stream_input(cat.pid);
    sink.send(Bytes::from_static(b"\0\xff\xfe json")).await.unwrap();
    read_until(&mut cat.output, b"\0\xff\xfe json").await;
    envd.send_input(cat.pid, Bytes::from_static(b"again")).await.unwrap();
    read_until(&mut cat.output, b"again").await;
    envd.kill(cat.pid).await.unwrap();
}

#[tokio::test]
#[ignore = "needs a real daemon with a token"]
async fn a_stale_token_is_a_typed_error_everywhere() {
    if env::var("DSH_TEST_ENVD_TOKEN").is_err() {
        return;
    }
    let mut facts = real_facts();
    facts.access_token = Some(Secret::new("stale-token"));
    let envd = Envd::new(facts).unwrap();
    let errors = [
        envd.start(sh("true")).await.map(drop).unwrap_err(),
        envd.send_input(1, Bytes::new()).await.unwrap_err(),
        envd.remove("/tmp/x").await.unwrap_err(),
        envd.upload("/tmp/x", Upload::Form(Bytes::new())).await.unwrap_err(),
    ];
    for error in errors {
        assert!(matches!(error, Error::Unauthorized(_)), "{error:?}");
        assert!(!error.to_string().contains("stale-token"));
    }
}
