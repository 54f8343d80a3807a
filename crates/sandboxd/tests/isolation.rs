//! What separates a sandbox from its host, and what is left of it.

#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod support;

use std::path::Path;

use support::processes::{mark, with_mark};
use support::wait::{until, within};
use support::{As, Service};

/// A script that leaves a plain child, a background one and a daemon, and then sleeps itself.
fn family(mark: &str) -> String {
    format!(
        "sh -c 'sleep 1000; : {mark}' & setsid sh -c 'sleep 1000; : {mark}' </dev/null >/dev/null 2>&1 & \
         (setsid sh -c 'sleep 1000; : {mark}' </dev/null >/dev/null 2>&1 &) ; echo started; sleep 1000; : {mark}"
    )
}

/// The service's temporary state directory, found by its lock.
fn state_of(pid: u32) -> std::path::PathBuf {
    let descriptors = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
    let lock = descriptors.filter_map(|fd| std::fs::read_link(fd.path()).ok()).find(|path| path.ends_with("lock"));
    lock.unwrap().parent().unwrap().to_owned()
}

#[tokio::test]
async fn a_sandbox_does_not_outlive_the_violent_death_of_the_service() {
    for who in As::all() {
        let mark = mark("violent");
        let mut service = Service::start_as(who, &[]);
        let sandbox = service.sandbox().await;
        let boxed = state_of(service.child.id()).join(&sandbox);
        let mut running = service.start_in(&sandbox, "user", &family(&mark)).await;
        assert_eq!(running.output().await, "started\n");
        until("the whole family", || with_mark(&mark).len() >= 4).await;
        assert!(boxed.exists());
        service.child.kill().unwrap();
        until("every process has gone", || with_mark(&mark).is_empty() && with_mark(&sandbox).is_empty()).await;
        until("the files have gone", || !boxed.exists()).await;
    }
}

#[tokio::test]
async fn a_sandbox_does_not_outlive_its_monitor() {
    for who in As::all() {
        let mark = mark("monitor");
        let service = Service::start_as(who, &[]);
        let sandbox = service.sandbox().await;
        let mut running = service.start_in(&sandbox, "user", &family(&mark)).await;
        assert_eq!(running.output().await, "started\n");
        // The monitor is the one of the two `init` whose parent is the service.
        let children = format!("/proc/{0}/task/{0}/children", service.child.id());
        let monitors: Vec<u32> = with_mark(&sandbox)
            .into_iter()
            .filter(|pid| {
                let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
                status.contains(&format!("PPid:\t{}\n", service.child.id()))
            })
            .collect();
        assert_eq!(monitors.len(), 1, "{children}");
        let monitor = rustix::process::Pid::from_raw(monitors[0].cast_signed()).unwrap();
        rustix::process::kill_process(monitor, rustix::process::Signal::KILL).unwrap();
        until("every process has gone", || with_mark(&mark).is_empty() && with_mark(&sandbox).is_empty()).await;
        let path = format!("/sandboxes/{sandbox}");
        within("the control plane has noticed", async {
            while service.call("GET", &path, None).await.status != 404 {
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            }
        })
        .await;
    }
}

#[tokio::test]
async fn an_orderly_end_of_the_service_takes_sandboxes_and_state_along() {
    for who in As::all() {
        let mark = mark("orderly");
        let service = Service::start_as(who, &[]);
        let sandbox = service.sandbox().await;
        let state = state_of(service.child.id());
        let mut running = service.start_in(&sandbox, "user", &family(&mark)).await;
        assert_eq!(running.output().await, "started\n");
        assert!(service.stop(), "exit code");
        assert_eq!(with_mark(&mark), [0_u32; 0]);
        assert!(!state.exists(), "{}", state.display());
    }
}

#[tokio::test]
async fn the_next_service_removes_what_a_killed_one_has_left() {
    let mut first = Service::start(&[]);
    let state = state_of(first.child.id());
    first.child.kill().unwrap();
    first.child.wait().unwrap();
    let _second = Service::start(&[]);
    assert!(!state.exists(), "{}", state.display());
}

#[tokio::test]
async fn a_state_directory_has_one_service_only() {
    let dir = tempfile::tempdir().unwrap();
    let _first = Service::start(&["--state-dir", dir.path().to_str().unwrap()]);
    let second = std::process::Command::new(env!("CARGO_BIN_EXE_sandboxd"))
        .args(["serve", "--state-dir"])
        .arg(dir.path())
        .output()
        .unwrap();
    assert!(!second.status.success());
    assert!(String::from_utf8_lossy(&second.stderr).contains("is in use"), "{second:?}");
}

#[tokio::test]
async fn a_sandbox_sees_its_own_processes_only() {
    for who in As::all() {
        let service = Service::start_as(who, &[]);
        let sandbox = service.sandbox().await;
        let (code, output) = service.run_in(&sandbox, "user", "echo /proc/[0-9]*; cat /proc/1/comm").await;
        assert_eq!(code, 0, "{output}");
        assert!(output.split_whitespace().count() <= 6, "{output}");
        assert!(output.ends_with("sandboxd\n"), "{output}");
    }
}

#[tokio::test]
async fn what_a_sandbox_writes_stays_in_it() {
    for who in As::all() {
        let service = Service::start_as(who, &[]);
        let sandbox = service.sandbox().await;
        let name = mark("written");
        // As root where there is one: the most powerful account of the box.
        let user = if service.ready["isolation"] == "two-users" { "root" } else { "user" };
        let script = format!(
            "for d in / /home/user /tmp /var/tmp /root /usr /usr/local/bin /etc /opt /dev /proc /sys /run /mnt; do \
             touch $d/{name} 2>/dev/null && echo $d; done; echo x >> /etc/passwd; echo x > /proc/sys/kernel/hostname; true"
        );
        let (_, output) = service.run_in(&sandbox, user, &script).await;
        let writable: Vec<&str> = output.lines().filter(|line| line.starts_with('/') && !line.contains(' ')).collect();
        assert_eq!(writable, ["/", "/home/user", "/tmp", "/var/tmp", "/root", "/run", "/mnt"], "{output}");
        for dir in ["/", "/home/user", "/tmp", "/var/tmp", "/root", "/run", "/mnt", "/usr", "/etc", "/opt", "/dev"] {
            assert!(!Path::new(dir).join(&name).exists(), "{dir} of the host was written");
        }
        assert!(!std::fs::read_to_string("/etc/passwd").unwrap().contains("\nx\n"));
    }
}

#[tokio::test]
async fn homes_and_secrets_of_the_host_are_not_to_be_seen() {
    for who in As::all() {
        let service = Service::start_as(who, &[]);
        let sandbox = service.sandbox().await;
        let user = if service.ready["isolation"] == "two-users" { "root" } else { "user" };
        let here = env!("CARGO_MANIFEST_DIR");
        let script = format!("exec 2>&1; ls -A /home /root; ls {here}; wc -c < /etc/shadow");
        let (_, output) = service.run_in(&sandbox, user, &script).await;
        assert!(output.starts_with("/home:\nuser\n\n/root:\n"), "{output}");
        assert!(output.contains("No such file"), "{output}");
        assert!(output.contains("\n0\n") || output.contains("Permission denied"), "{output}");
    }
}

#[tokio::test]
async fn root_of_a_sandbox_cannot_mount_or_make_devices_or_reach_pid_1() {
    let service = Service::start(&[]);
    if service.ready["isolation"] != "two-users" {
        return;
    }
    let sandbox = service.sandbox().await;
    let script = "exec 2>/dev/null; mount -t tmpfs none /mnt || echo no mount; mknod /tmp/disk b 8 0 || echo no node; \
                  kill -9 1; kill -0 1 && echo alive";
    let (_, output) = service.run_in(&sandbox, "root", script).await;
    assert_eq!(output, "no mount\nno node\nalive\n");
    // Pid 1 as well: who may trace it could use what it has.
    for process in ["self", "1"] {
        let (_, caps) = service.run_in(&sandbox, "root", &format!("grep CapPrm /proc/{process}/status")).await;
        let bits = u64::from_str_radix(caps.split_whitespace().last().unwrap(), 16).unwrap();
        assert_ne!(bits, 0, "root has no capabilities at all");
        for (name, bit) in [("SYS_ADMIN", 21), ("MKNOD", 27), ("DAC_READ_SEARCH", 2), ("SYS_MODULE", 16)] {
            assert_eq!(bits >> bit & 1, 0, "{name} of {process}");
        }
    }
}

#[tokio::test]
async fn sudo_makes_root_where_there_is_one() {
    let service = Service::start(&[]);
    let sandbox = service.sandbox().await;
    let (code, output) =
        service.run_in(&sandbox, "user", "sudo id -un; sudo -u user id -un; sudo sh -c 'exit 7'").await;
    let first = if service.ready["isolation"] == "two-users" { "root" } else { "user" };
    assert_eq!((code, output.as_str()), (7, format!("{first}\nuser\n").as_str()));
}

#[tokio::test]
async fn terminals_and_attributes_work_in_the_home() {
    for who in As::all() {
        let service = Service::start_as(who, &[]);
        let sandbox = service.sandbox().await;
        let script = "script -qec 'tty; id -un' /dev/null; pwd; touch a; \
                      python3 -c \"import os; os.setxattr('a', 'user.x', b'1'); print(os.getxattr('a', 'user.x'))\"";
        let (code, output) = service.run_in(&sandbox, "user", script).await;
        assert_eq!((code, output.replace('\r', "")), (0, "/dev/pts/0\nuser\n/home/user\nb'1'\n".to_owned()));
    }
}

#[tokio::test]
async fn without_isolation_a_sandbox_is_ended_with_its_daemons_too() {
    let mark = mark("loose");
    let service = Service::start(&["--no-isolation"]);
    assert_eq!(service.ready["isolation"], "off");
    let sandbox = service.sandbox().await;
    let me = nix::unistd::User::from_uid(nix::unistd::geteuid()).unwrap().unwrap().name;
    let mut running = service.start_in(&sandbox, &me, &family(&mark)).await;
    assert_eq!(running.output().await, "started\n");
    until("the whole family", || with_mark(&mark).len() >= 4).await;
    assert_eq!(service.call("DELETE", &format!("/sandboxes/{sandbox}"), None).await.status, 204);
    assert_eq!(with_mark(&mark), [0_u32; 0]);
}

#[tokio::test]
async fn where_namespaces_are_refused_the_service_does_not_start_and_says_how_it_would() {
    // A user namespace in which no further one may be made stands for a host that refuses them.
    let script = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" serve";
    let output = std::process::Command::new("unshare")
        .args(["-U", "-r", "sh", "-c", script, env!("CARGO_BIN_EXE_sandboxd")])
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && output.stdout.is_empty(), "{output:?}");
    assert!(words.contains("namespaces are refused") && words.contains("--no-isolation"), "{words}");
}

#[tokio::test]
async fn a_state_directory_that_sandboxes_would_see_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_sandboxd"))
        .arg("serve")
        .arg("--state-dir")
        .arg(dir.path().join("state"))
        .arg("--show")
        .arg(dir.path())
        .output()
        .unwrap();
    assert!(!output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("which sandboxes see"), "{output:?}");
}

#[tokio::test]
async fn a_paused_sandbox_does_not_outlive_the_violent_death_of_the_service_either() {
    let mark = mark("frozen");
    let mut service = Service::start(&[]);
    let sandbox = service.sandbox().await;
    let mut running = service.start_in(&sandbox, "user", &family(&mark)).await;
    assert_eq!(running.output().await, "started\n");
    assert_eq!(service.call("POST", &format!("/sandboxes/{sandbox}/pause"), None).await.status, 204);
    service.child.kill().unwrap();
    until("every process has gone", || with_mark(&mark).is_empty() && with_mark(&sandbox).is_empty()).await;
}

#[tokio::test]
async fn what_is_shown_is_there_and_read_only() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file"), "shown").unwrap();
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let service = Service::start(&["--show", dir.path().to_str().unwrap()]);
    let sandbox = service.sandbox().await;
    let script = format!("cat {0}/file; touch {0}/new 2>/dev/null || echo ' not writable'", dir.path().display());
    assert_eq!(service.run_in(&sandbox, "user", &script).await, (0, "shown not writable\n".to_owned()));
}

#[tokio::test]
async fn many_sandboxes_come_and_go_at_once() {
    let service = Service::start(&[]);
    let sandboxes = futures_util::future::join_all((0..20).map(|_| service.sandbox())).await;
    let outputs = futures_util::future::join_all(sandboxes.iter().map(|id| service.run_in(id, "user", "id -un"))).await;
    assert!(outputs.iter().all(|(code, output)| *code == 0 && output == "user\n"), "{outputs:?}");
    let paths: Vec<String> = sandboxes.iter().map(|id| format!("/sandboxes/{id}")).collect();
    let ends = futures_util::future::join_all(paths.iter().map(|path| service.call("DELETE", path, None))).await;
    assert!(ends.iter().all(|answer| answer.status == 204), "{ends:?}");
    for id in &sandboxes {
        assert_eq!(with_mark(id), [0_u32; 0]);
    }
}

#[tokio::test]
async fn the_root_of_a_container_without_privileges_has_one_user_in_its_sandboxes() {
    let service = Service::start_by(&["unshare", "-U", "-r"], &[]);
    assert_eq!(service.ready["isolation"], "one-user");
    let sandbox = service.sandbox().await;
    let (code, output) = service.run_in(&sandbox, "user", "id -un; echo 1 > a && stat -c %U a; id -u").await;
    assert!(code == 0 && output.starts_with("user\nuser\n") && !output.ends_with("\n0\n"), "{output}");
}

#[tokio::test]
async fn programs_inside_have_the_limit_of_descriptors_that_the_service_was_started_with() {
    let service = Service::start_by(&["prlimit", "--nofile=300:600"], &[]);
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", service.child.id())).unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    assert_eq!(line.split_whitespace().nth(3), Some("600"), "the service takes what it may");
    let sandbox = service.sandbox().await;
    assert_eq!(service.run_in(&sandbox, "user", "ulimit -n").await, (0, "300\n".to_owned()));
}
