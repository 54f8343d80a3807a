//! Watching directories.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::daemon::Daemon;

/// A daemon, a directory and a watcher of it.
struct Watched {
    daemon: Daemon,
    directory: tempfile::TempDir,
    id: Value,
}

impl Watched {
    async fn new(recursive: bool) -> Self {
        let daemon = Daemon::start().await;
        let directory = tempfile::tempdir().expect("tempdir");
        let message = json!({"path": directory.path(), "recursive": recursive, "includeEntry": true});
        let reply = daemon.unary("filesystem.Filesystem/CreateWatcher", message).await;
        Self { daemon, directory, id: reply.json()["watcherId"].clone() }
    }

    fn path(&self, name: &str) -> String {
        self.directory.path().join(name).to_str().expect("UTF-8").to_owned()
    }

    async fn upload(&self, name: &str, content: &'static str) {
        let headers = [("content-type", "application/octet-stream")];
        let reply = self.daemon.call("POST", &format!("/files?path={}", self.path(name)), &headers, content).await;
        assert!(reply.status.is_success(), "{reply:?}");
    }

    async fn events(&self) -> Vec<Value> {
        let message = json!({"watcherId": self.id});
        let reply = self.daemon.unary("filesystem.Filesystem/GetWatcherEvents", message).await;
        reply.json()["events"].as_array().cloned().unwrap_or_default()
    }

    async fn types(&self) -> Vec<String> {
        let text = |event: &Value| format!("{} {}", event["type"].as_str().unwrap(), event["name"].as_str().unwrap());
        self.events().await.iter().map(|event| text(event).replace("EVENT_TYPE_", "")).collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_of_a_new_file_is_exactly_three_events_at_once() {
    let watched = Watched::new(false).await;
    watched.upload("new", "x").await;
    assert_eq!(watched.types().await, ["CREATE new", "CHMOD new", "WRITE new"]);
    assert!(watched.types().await.is_empty(), "taken once");
}

#[tokio::test(flavor = "multi_thread")]
async fn overwriting_is_attributes_and_writing_and_no_creation() {
    let watched = Watched::new(false).await;
    fs::write(watched.path("old"), "").expect("write");
    watched.events().await;
    watched.upload("old", "x").await;
    assert_eq!(watched.types().await, ["CHMOD old", "WRITE old"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_put_into_a_directory_right_after_its_making_is_seen() {
    let watched = Watched::new(true).await;
    for round in 0..10 {
        let nested = watched.path(&format!("nested{round}"));
        watched.daemon.unary("filesystem.Filesystem/MakeDir", json!({"path": nested})).await;
        watched.upload(&format!("nested{round}/file"), "x").await;
        let types = watched.types().await;
        assert!(types.contains(&format!("CREATE nested{round}")), "{types:?}");
        assert!(types.ends_with(&["CREATE", "CHMOD", "WRITE"].map(|t| format!("{t} nested{round}/file"))), "{types:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_made_by_a_process_is_seen_to_its_last_file() {
    let watched = Watched::new(true).await;
    let deep = watched.path("a/b/c");
    fs::create_dir_all(&deep).expect("directories");
    fs::write(Path::new(&deep).join("file"), "x").expect("write");
    let types = watched.types().await;
    for name in ["a", "a/b", "a/b/c", "a/b/c/file"] {
        assert!(types.contains(&format!("CREATE {name}")), "{name} in {types:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn events_of_a_renamed_directory_have_its_new_name() {
    let watched = Watched::new(true).await;
    fs::create_dir(watched.path("old")).expect("directory");
    watched.events().await;
    fs::rename(watched.path("old"), watched.path("new")).expect("rename");
    assert_eq!(watched.types().await, ["RENAME old", "CREATE new"]);
    watched.upload("new/file", "x").await;
    assert_eq!(watched.types().await.first().map(String::as_str), Some("CREATE new/file"));
}

#[tokio::test(flavor = "multi_thread")]
async fn entries_come_with_what_is_there_and_not_with_what_is_gone() {
    let watched = Watched::new(false).await;
    watched.upload("file", "12345").await;
    let events = watched.events().await;
    let entry = &events[2]["entry"];
    assert_eq!((&entry["path"], &entry["size"]), (&json!(watched.path("file")), &json!("5")), "{events:?}");
    fs::remove_file(watched.path("file")).expect("remove");
    let events = watched.events().await;
    assert_eq!(events[0]["type"], "EVENT_TYPE_REMOVE");
    assert_eq!(events[0].get("entry"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_watcher_is_not_found() {
    let watched = Watched::new(false).await;
    let message = json!({"watcherId": watched.id});
    assert!(watched.daemon.unary("filesystem.Filesystem/RemoveWatcher", message.clone()).await.status.is_success());
    let reply = watched.daemon.unary("filesystem.Filesystem/GetWatcherEvents", message).await;
    assert_eq!(reply.json()["code"], "not_found");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_streamed_watch_is_armed_at_its_start_event() {
    let watched = Watched::new(false).await;
    let message = json!({"path": watched.directory.path()});
    let mut stream = watched.daemon.stream("filesystem.Filesystem/WatchDir", message, &[]).await;
    assert_eq!(stream.next().await, Some(json!({"start": {}})));
    watched.upload("new", "x").await;
    for expected in ["EVENT_TYPE_CREATE", "EVENT_TYPE_CHMOD", "EVENT_TYPE_WRITE"] {
        let event = stream.next().await.expect("event");
        assert_eq!(event, json!({"filesystem": {"name": "new", "type": expected}}));
    }
    for (path, code) in [("missing", "not_found"), ("new", "invalid_argument")] {
        let message = json!({"path": watched.path(path)});
        let mut stream = watched.daemon.stream("filesystem.Filesystem/WatchDir", message, &[]).await;
        assert_eq!(stream.error().await, code);
    }
}
