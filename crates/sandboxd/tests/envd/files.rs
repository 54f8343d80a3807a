//! Files over plain HTTP.

use std::{fs, io::Write as _, os::unix::fs::PermissionsExt as _};

use flate2::{Compression, write::GzEncoder};
use serde_json::json;

use crate::daemon::Daemon;

const OCTETS: (&str, &str) = ("content-type", "application/octet-stream");
const FORM: (&str, &str) = ("content-type", "multipart/form-data; boundary=cut");

fn directory() -> (tempfile::TempDir, String) {
    let directory = tempfile::tempdir().expect("tempdir");
    let path = directory.path().to_str().expect("UTF-8").to_owned();
    (directory, path)
}

fn form(parts: &[(&str, &str)]) -> String {
    let part = |(disposition, content): &(&str, &str)| {
        format!("--cut\r\nContent-Disposition: form-data; {disposition}\r\n\r\n{content}\r\n")
    };
    parts.iter().map(part).collect::<String>() + "--cut--\r\n"
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_makes_its_directories_and_answers_exactly_the_entry() {
    let daemon = Daemon::start().await;
    let (_guard, root) = directory();
    let reply = daemon.call("POST", &format!("/files?path={root}/a/b/file"), &[OCTETS], "hello").await;
    assert_eq!(reply.json(), json!([{"name": "file", "path": format!("{root}/a/b/file"), "type": "file"}]));
    assert_eq!(fs::read(format!("{root}/a/b/file")).expect("file"), b"hello");
    let mode = |path: &str| fs::metadata(format!("{root}/{path}")).expect(path).permissions().mode() & 0o777;
    assert_eq!((mode("a"), mode("a/b/file") | 0o022), (0o755, 0o666));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_parts_of_a_form_keep_directories_leading_slash_and_order() {
    let daemon = Daemon::start().await;
    let (_guard, root) = directory();
    let names = [format!("{root}/0/multi.txt"), format!("{root}/1/ü \\\"q\\\".txt")];
    let dispositions = names.each_ref().map(|name| format!("name=\"file\"; filename=\"{name}\""));
    let body = form(&[(&dispositions[0], "zero"), ("name=\"other\"; filename=\"no\"", "x"), (&dispositions[1], "one")]);
    let reply = daemon.call("POST", "/files", &[FORM], body).await;
    let paths: Vec<_> = reply.json().as_array().expect("list").iter().map(|entry| entry["path"].clone()).collect();
    assert_eq!(paths, [json!(names[0]), json!(format!("{root}/1/ü \"q\".txt"))]);
    assert_eq!(fs::read(&names[0]).expect("first"), b"zero");
    assert_eq!(fs::read(format!("{root}/1/ü \"q\".txt")).expect("second"), b"one");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_path_of_the_query_wins_and_can_be_used_once() {
    let daemon = Daemon::start().await;
    let (_guard, root) = directory();
    let target = format!("/files?path={root}/file");
    let reply = daemon.call("POST", &target, &[FORM], form(&[("name=\"file\"", "text")])).await;
    assert_eq!(reply.json()[0]["path"], format!("{root}/file"));
    let twice = form(&[("name=\"file\"; filename=\"a\"", "1"), ("name=\"file\"; filename=\"b\"", "2")]);
    let reply = daemon.call("POST", &target, &[FORM], twice).await;
    assert_eq!(reply.status, 400);
    assert_eq!(fs::read(format!("{root}/file")).expect("file"), b"1");
    let reply = daemon.call("POST", "/files", &[FORM], form(&[("name=\"file\"", "text")])).await;
    assert_eq!(reply.json()["code"], 400, "neither path nor filename");
}

#[tokio::test(flavor = "multi_thread")]
async fn compressed_uploads_are_stored_plain_and_others_are_refused() {
    let daemon = Daemon::start().await;
    let (_guard, root) = directory();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&[b'z'; 500_000]).expect("compress");
    let target = format!("/files?path={root}/file");
    let gzip = ("content-encoding", "gzip");
    let reply = daemon.call("POST", &target, &[OCTETS, gzip], encoder.finish().expect("compress")).await;
    assert!(reply.status.is_success(), "{reply:?}");
    assert_eq!(fs::read(format!("{root}/file")).expect("file"), [b'z'; 500_000]);
    assert_eq!(daemon.call("POST", &target, &[OCTETS, gzip], "not gzip").await.status, 400);
    assert_eq!(daemon.call("POST", &target, &[OCTETS, ("content-encoding", "zstd")], "x").await.status, 400);
    assert_eq!(daemon.call("POST", &target, &[("content-type", "text/plain")], "x").await.status, 400);
    assert_eq!(fs::metadata(format!("{root}/file")).expect("file").len(), 500_000, "untouched by the refused");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_download_has_a_length_also_when_empty_and_parts_on_request() {
    let daemon = Daemon::start().await;
    let (_guard, root) = directory();
    fs::write(format!("{root}/empty"), "").expect("write");
    fs::write(format!("{root}/file.txt"), "0123456789").expect("write");
    let gzip = ("accept-encoding", "gzip, deflate");
    for headers in [&[][..], &[gzip][..]] {
        let reply = daemon.call("GET", &format!("/files?path={root}/empty"), headers, "").await;
        assert_eq!((reply.status.as_u16(), reply.header("content-length")), (200, Some("0")));
    }
    let target = format!("/files?path={root}/file.txt");
    let whole = daemon.call("GET", &target, &[], "").await;
    assert_eq!((whole.header("content-length"), &whole.body[..]), (Some("10"), &b"0123456789"[..]));
    assert_eq!(whole.header("content-type"), Some("text/plain; charset=utf-8"));
    let part = daemon.call("GET", &target, &[("range", "bytes=2-4"), gzip], "").await;
    assert_eq!((part.status.as_u16(), &part.body[..]), (206, &b"234"[..]));
    assert_eq!(part.header("content-range"), Some("bytes 2-4/10"));
    let beyond = daemon.call("GET", &target, &[("range", "bytes=10-")], "").await;
    assert_eq!((beyond.status.as_u16(), beyond.header("content-range")), (416, Some("bytes */10")));
    let compressed = daemon.call("GET", &target, &[gzip], "").await;
    assert_eq!(compressed.header("content-encoding"), Some("gzip"));
    let mut plain = String::new();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&compressed.body[..]), &mut plain).expect("gzip");
    assert_eq!(plain, "0123456789");
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_are_json_that_repeats_the_status() {
    let daemon = Daemon::start().await;
    let (_guard, root) = directory();
    fs::write(format!("{root}/file"), "").expect("write");
    let table = [
        (format!("path={root}/missing"), 404),
        (format!("path={root}"), 400),
        (format!("path={root}/file/below"), 500),
        ("path=~nobody".to_owned(), 400),
        ("path=x&username=nobody-of-this-name".to_owned(), 401),
    ];
    for (query, status) in table {
        let reply = daemon.call("GET", &format!("/files?{query}"), &[], "").await;
        assert_eq!(reply.status, status, "{query}");
        assert_eq!(reply.json()["code"], status, "{query}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn metadata_is_replaced_by_every_upload_and_told_everywhere() {
    let daemon = Daemon::start().await;
    let (_guard, root) = directory();
    let target = format!("/files?path={root}/file");
    let reply = daemon.call("POST", &target, &[OCTETS, ("X-Metadata-Some-Key", "Value")], "x").await;
    let told = reply.json()[0].get("metadata").cloned();
    if told.is_none() {
        // A file system without attributes keeps none, and says none.
        return;
    }
    assert_eq!(told, Some(json!({"some-key": "Value"})));
    let stat = json!({"path": format!("{root}/file")});
    let entry = async || daemon.unary("filesystem.Filesystem/Stat", stat.clone()).await.json()["entry"].clone();
    assert_eq!(entry().await["metadata"], json!({"some-key": "Value"}));
    let list = daemon.unary("filesystem.Filesystem/ListDir", json!({"path": root})).await;
    assert_eq!(list.json()["entries"][0]["metadata"], json!({"some-key": "Value"}));
    let reply = daemon.call("POST", &target, &[OCTETS], "x").await;
    assert_eq!(reply.json()[0].get("metadata"), None);
    assert_eq!(entry().await.get("metadata"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn composing_joins_in_order_and_removes_the_parts() {
    let daemon = Daemon::start().await;
    let (_guard, root) = directory();
    fs::write(format!("{root}/1"), "one").expect("write");
    fs::write(format!("{root}/2"), "two").expect("write");
    let message =
        json!({"source_paths": [format!("{root}/2"), format!("{root}/1")], "destination": format!("{root}/d/all")});
    let reply = daemon.call("POST", "/files/compose", &[], message.to_string()).await;
    assert_eq!(reply.json()["path"], format!("{root}/d/all"));
    assert_eq!(fs::read(format!("{root}/d/all")).expect("joined"), b"twoone");
    assert_eq!(fs::read_dir(&root).expect("directory").count(), 1, "only the new directory is left");
    let again = daemon.call("POST", "/files/compose", &[], message.to_string()).await;
    assert_eq!(again.status, 404);
}
