//! Starting processes and hearing of them.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::time::timeout;

use crate::daemon::Daemon;

fn selector(pid: u64) -> Value {
    json!({ "pid": pid })
}

#[tokio::test(flavor = "multi_thread")]
async fn all_output_comes_before_the_end_and_the_code_with_it() {
    let daemon = Daemon::start().await;
    let (mut events, _) = daemon.script("echo out; echo err >&2; exit 3").await;
    let outcome = events.outcome().await;
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("out\n", "err\n"));
    assert_eq!((outcome.exit_code, outcome.exited, outcome.status.as_str()), (3, true, "exit status 3"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_program_starts_and_ends_with_127_and_one_that_is_none_with_126() {
    let daemon = Daemon::start().await;
    for (command, code) in [("/no/such/program", 127), ("/etc/passwd", 126)] {
        let (mut events, _) = daemon.started(json!({"process": {"cmd": command}}), &[]).await;
        let outcome = events.outcome().await;
        assert_eq!(outcome.exit_code, code, "{outcome:?}");
        assert!(outcome.stderr.contains(command), "{outcome:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_that_does_not_exist_is_an_invalid_argument() {
    let daemon = Daemon::start().await;
    let message = json!({"process": {"cmd": "true", "cwd": "/no/such/directory"}});
    let mut events = daemon.stream("process.Process/Start", message, &[]).await;
    assert_eq!(events.error().await, "invalid_argument");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_starts_with_clean_signals_and_no_foreign_descriptors() {
    let daemon = Daemon::start().await;
    // SAFETY: ignoring a signal is the state that must not reach the process.
    unsafe { libc::signal(libc::SIGUSR2, libc::SIG_IGN) };
    let leaked = std::fs::File::open("/dev/null").expect("open");
    rustix::io::fcntl_setfd(&leaked, rustix::io::FdFlags::empty()).expect("inheritable");
    let script = "grep -E 'SigIgn|SigBlk' /proc/self/status; umask; exec ls /proc/self/fd";
    let (mut events, _) = daemon.script(script).await;
    let zeros = "0".repeat(16);
    let expected = format!("SigBlk:\t{zeros}\nSigIgn:\t{zeros}\n0022\n0\n1\n2\n3\n");
    // The fourth is the listing's own.
    let stdout = events.outcome().await.stdout;
    assert_eq!(stdout, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_disconnect_the_process_lives_and_connect_hears_what_comes_then() {
    let daemon = Daemon::start().await;
    let (events, pid) = daemon.script("echo early; read line; echo late $line; exit 5").await;
    drop(events);
    let message = json!({"process": selector(pid)});
    let mut events = daemon.stream("process.Process/Connect", message, &[]).await;
    assert_eq!(events.next().await.expect("start")["event"]["start"]["pid"], pid);
    let input = json!({"process": selector(pid), "input": {"stdin": "eAo="}});
    assert!(daemon.unary("process.Process/SendInput", input).await.status.is_success());
    let outcome = events.outcome().await;
    assert!(outcome.stdout.ends_with("late x\n"), "{outcome:?}");
    assert_eq!(outcome.exit_code, 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_process_can_be_asked_for_afterwards() {
    let daemon = Daemon::start().await;
    let (mut events, pid) = daemon.script("exit 9").await;
    events.outcome().await;
    let message = json!({"process": selector(pid)});
    let mut late = daemon.stream("process.Process/Connect", message.clone(), &[]).await;
    assert_eq!(late.next().await.expect("start")["event"]["start"]["pid"], pid);
    assert_eq!(late.outcome().await.exit_code, 9);
    let signal = json!({"process": selector(pid), "signal": "SIGNAL_SIGTERM"});
    assert_eq!(daemon.unary("process.Process/SendSignal", signal).await.json()["code"], "not_found");
    assert_eq!(daemon.unary("process.Process/List", json!({})).await.json(), json!({}));
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_listening_lets_a_process_write_at_full_speed() {
    let daemon = Daemon::start().await;
    let (events, pid) = daemon.script("read go; head -c 50000000 /dev/zero; exit 4").await;
    drop(events);
    let input = json!({"process": selector(pid), "input": {"stdin": "Cg=="}});
    // The daemon learns of the disconnect by itself; from then on nothing may hold the process up.
    daemon.unary("process.Process/SendInput", input).await;
    let message = json!({"process": selector(pid)});
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let processes = daemon.unary("process.Process/List", json!({})).await.json();
        if processes == json!({}) {
            break;
        }
        assert!(Instant::now() < deadline, "still there: {processes}");
        tokio::task::yield_now().await;
    }
    let mut late = daemon.stream("process.Process/Connect", message, &[]).await;
    late.next().await.expect("start");
    assert_eq!(late.outcome().await.exit_code, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_holds_the_process_up_until_it_leaves() {
    let daemon = Daemon::start().await;
    // Far more than all buffers on the way.
    let (stalled, pid) = daemon.script("head -c 40000000 /dev/zero; exit 6").await;
    let connect = json!({"process": selector(pid)});
    let mut other = daemon.stream("process.Process/Connect", connect, &[]).await;
    other.next().await.expect("start");
    // The other listener starves as well, by and by.
    let starved =
        async { while timeout(Duration::from_secs(1), other.next()).await.is_ok_and(|event| event.is_some()) {} };
    timeout(Duration::from_secs(60), starved).await.expect("starves");
    let processes = daemon.unary("process.Process/List", json!({})).await.json();
    assert_eq!(processes["processes"][0]["pid"], pid, "{processes}");
    drop(stalled);
    assert_eq!(other.outcome().await.exit_code, 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_does_not_wait_for_a_descendant_that_holds_the_output() {
    let daemon = Daemon::start().await;
    let (mut events, pid) = daemon.script("sleep 5 & exec sleep 100").await;
    let kill = json!({"process": selector(pid), "signal": "SIGNAL_SIGKILL"});
    let begun = Instant::now();
    assert!(daemon.unary("process.Process/SendSignal", kill).await.status.is_success());
    let outcome = events.outcome().await;
    assert!(begun.elapsed() < Duration::from_secs(4), "waited for the descendant");
    assert_eq!((outcome.exit_code, outcome.exited, outcome.status.as_str()), (-1, false, "signal: killed"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_descendant_that_holds_the_output_is_heard_before_the_end() {
    let daemon = Daemon::start().await;
    let (mut events, pid) = daemon.script("exec 3<&0; (read line <&3; echo last $line) & exit 7").await;
    assert!(timeout(Duration::from_millis(300), events.next()).await.is_err(), "ended before its output");
    let input = json!({"process": selector(pid), "input": {"stdin": "eAo="}});
    assert!(daemon.unary("process.Process/SendInput", input).await.status.is_success());
    let outcome = events.outcome().await;
    assert_eq!((outcome.stdout.as_str(), outcome.exit_code), ("last x\n", 7));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_timeout_kills_the_process_and_ends_the_stream() {
    let daemon = Daemon::start().await;
    let message = json!({"process": {"cmd": "sleep", "args": ["100"]}});
    let (mut events, pid) = daemon.started(message, &[("connect-timeout-ms", "300")]).await;
    assert_eq!(events.error().await, "deadline_exceeded");
    let mut late = daemon.stream("process.Process/Connect", json!({"process": selector(pid)}), &[]).await;
    late.next().await.expect("start");
    assert_eq!(late.outcome().await.status, "signal: killed");
}

#[tokio::test(flavor = "multi_thread")]
async fn silence_is_filled_with_keepalives() {
    let daemon = Daemon::start().await;
    let message = json!({"process": {"cmd": "cat"}});
    let (mut events, pid) = daemon.started(message, &[("keepalive-ping-interval", "1")]).await;
    assert_eq!(events.next().await, Some(json!({"event": {"keepalive": {}}})));
    daemon.unary("process.Process/CloseStdin", json!({"process": selector(pid)})).await;
    assert_eq!(events.outcome().await.exit_code, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_has_the_asked_size_and_one_output() {
    let daemon = Daemon::start().await;
    let message = json!({
        "process": {"cmd": "/bin/sh", "args": ["-c", "stty size; read x; stty size; echo $x >&2"]},
        "pty": {"size": {"cols": 77, "rows": 20}},
    });
    let (mut events, pid) = daemon.started(message, &[]).await;
    let resize = json!({"process": selector(pid), "pty": {"size": {"cols": 100, "rows": 30}}});
    let first = events.next().await.expect("output");
    assert_eq!(first["event"]["data"]["pty"], "MjAgNzcNCg==");
    assert!(daemon.unary("process.Process/Update", resize).await.status.is_success());
    let input = json!({"process": selector(pid), "input": {"pty": "YWJjCg=="}});
    assert!(daemon.unary("process.Process/SendInput", input).await.status.is_success());
    let outcome = events.outcome().await;
    assert!(outcome.terminal.contains("30 100\r\nabc\r\n"), "{outcome:?}");
    assert_eq!(outcome.exit_code, 0);
}
