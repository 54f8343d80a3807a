//! The line under the shells of this machine, without a daemon.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use super::*;
use crate::delivery::{Machine, binary::tests::fake};

/// Says how it was called, but when it is tried.
const SUPERVISOR: &[u8] = b"#!/bin/sh\n[ \"$1\" = version ] && exit\necho \"ready $0 $1 $2\"\nrm \"$3\"\n";

struct Place {
    folder: PathBuf,
    shell: Vec<&'static str>,
}

impl Place {
    fn new(name: &str, shell: &[&'static str]) -> Self {
        let folder = std::env::temp_dir().join(format!(
            "delivery {name} {} {}",
            shell.concat().replace('/', "-"),
            std::process::id()
        ));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Self { folder, shell: shell.to_vec() }
    }

    fn path(&self, name: &str) -> String {
        self.folder.join("root").join(name).to_str().unwrap().to_owned()
    }

    fn spawn(&self, machine: Machine, ticks: u32, path: &str) -> Child {
        self.spawn_with(SUPERVISOR, machine, ticks, path)
    }

    fn spawn_with(&self, content: &'static [u8], machine: Machine, ticks: u32, path: &str) -> Child {
        let binary = fake(machine, content, "0123456789abcdef");
        let root = self.folder.join("root").to_str().unwrap().to_owned();
        let argv = ["join".into(), "a b'\"".into()];
        let start = with_patience(ticks, &root, &self.path(".supervisor-x"), &self.path(".upload"), &binary, &argv);
        Command::new(self.shell[0])
            .args(&self.shell[1..])
            .args(&start.args)
            .env("PATH", path)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    fn run(&self) -> Output {
        self.spawn(here(), 500, &all_tools()).wait_with_output().unwrap()
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(self.folder.join("root"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn here() -> Machine {
    if cfg!(target_arch = "aarch64") { Machine::Aarch64 } else { Machine::X86_64 }
}

fn all_tools() -> String {
    std::env::var("PATH").unwrap()
}

/// Every kind of shell that this machine has; the first is always there.
fn shells() -> Vec<Vec<&'static str>> {
    let busybox = ["/bin/busybox", "/usr/bin/busybox"].into_iter().find(|path| Path::new(path).exists());
    let mut shells = vec![vec!["/bin/sh"]];
    shells.extend(busybox.map(|path| vec![path, "sh"]));
    shells.extend(Path::new("/bin/bash").exists().then(|| vec!["/bin/bash", "--posix"]));
    shells
}

/// Counts how often it is called, and does not wait.
const SLEEP: &str = "#!/bin/sh\necho \"$1\" >>\"${0%/*}/../slept\"\n";

#[test]
fn what_is_late_is_looked_for_less_often() {
    for shell in shells() {
        let place = Place::new("late", &shell);
        let tools = place.folder.join("tools");
        fs::create_dir(&tools).unwrap();
        fs::write(tools.join("sleep"), SLEEP).unwrap();
        fs::set_permissions(tools.join("sleep"), fs::Permissions::from_mode(0o700)).unwrap();
        let path = format!("{}:{}", tools.display(), all_tools());
        assert_eq!(place.spawn(here(), 200, &path).wait().unwrap().code(), Some(EXIT_UPLOAD), "{shell:?}");
        let slept = fs::read_to_string(place.folder.join("slept")).unwrap_or_default();
        // A busybox may sleep by itself.
        if !slept.is_empty() {
            let count = |pause| slept.lines().filter(|line| *line == pause).count();
            assert_eq!((count("0.01"), count("0.05")), (99, 20), "{shell:?}");
        }
    }
}

fn write_slowly(path: &str) {
    fs::create_dir_all(Path::new(path).parent().unwrap()).unwrap();
    let (head, tail) = SUPERVISOR.split_at(10);
    fs::write(path, head).unwrap();
    thread::sleep(Duration::from_millis(50));
    fs::write(path, [head, tail].concat()).unwrap();
}

#[test]
fn the_line_waits_for_the_whole_file_and_becomes_it() {
    for shell in shells() {
        let place = Place::new("waits", &shell);
        let child = place.spawn(here(), 500, &all_tools());
        write_slowly(&place.path(".upload"));
        let output = child.wait_with_output().unwrap();
        assert_eq!(
            String::from_utf8(output.stdout).unwrap(),
            format!("ready {} join a b'\"\n", place.path(".supervisor-x")),
            "{shell:?} {}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(output.stderr.is_empty(), "{shell:?} {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(place.names(), [".supervisor-x"]);
        let mode = |path: &str| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&place.path(".supervisor-x")), 0o700);
        assert_eq!(mode(&place.path("")), 0o700);
    }
}

#[test]
fn c13_the_binary_gets_the_environment_that_the_shell_got() {
    for shell in shells() {
        let place = Place::new("environment", &shell);
        fs::create_dir_all(place.path("")).unwrap();
        fs::write(place.path(".supervisor-x"), "#!/bin/sh\n[ \"$1\" = version ] || cat \"$1\"\n").unwrap();
        fs::set_permissions(place.path(".supervisor-x"), fs::Permissions::from_mode(0o700)).unwrap();
        let root = place.path("");
        let binary = fake(here(), SUPERVISOR, "0123456789abcdef");
        let start = with_patience(500, &root, &place.path(".supervisor-x"), &place.path(".upload"), &binary, &[]);
        // Names of the line's own variables, of those that a shell sets, and such as no shell has.
        let given = ["bin", "dir", "up", "umask", "HOME", "PWD", "OLDPWD", "SHLVL", "_", "FOO-BAR", "a.b", "1", "x y"];
        let output = Command::new(shell[0])
            .args(&shell[1..])
            .args(&start.args)
            .env_clear()
            .env("PATH", all_tools())
            .envs(given.map(|name| (name, "given\nin lines")))
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let mut seen: Vec<&str> = text.split_terminator('\0').collect();
        let mut expected: Vec<String> = given.iter().map(|name| format!("{name}=given\nin lines")).collect();
        expected.push(format!("PATH={}", all_tools()));
        seen.sort_unstable();
        expected.sort_unstable();
        assert_eq!(seen, expected, "{shell:?} {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn a_binary_that_is_there_is_started_without_any_upload() {
    for shell in shells() {
        let place = Place::new("present", &shell);
        fs::create_dir_all(place.path("")).unwrap();
        fs::write(place.path(".supervisor-x"), SUPERVISOR).unwrap();
        fs::set_permissions(place.path(".supervisor-x"), fs::Permissions::from_mode(0o700)).unwrap();
        assert!(place.run().stdout.starts_with(b"ready "), "{shell:?}");
    }
}

#[test]
fn many_lines_at_once_end_with_one_binary() {
    let place = Place::new("many", &["/bin/sh"]);
    let children: Vec<_> = (0..12).map(|_| place.spawn(here(), 500, &all_tools())).collect();
    write_slowly(&place.path(".upload"));
    for child in children {
        let output = child.wait_with_output().unwrap();
        // The first one removes the upload: who comes later must find the binary instead.
        assert!(output.stdout.starts_with(b"ready "), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(place.names(), [".supervisor-x"]);
}

/// Removed by another harness as soon as it is tried the first time; `bring` tells what comes in its place, and how that ends.
#[test]
fn c64_a_binary_that_another_harness_removes_is_no_broken_one() {
    const REMOVED: &[u8] = b"#!/bin/sh\nrm -f \"$0\"\nexit 127\n";
    const REPLACED: &[u8] = b"#!/bin/sh\n[ -e \"$0.next\" ] || exit 3\nmv -f \"$0.next\" \"$0\"\nexit 127\n";
    for (shell, bring) in shells().into_iter().flat_map(|shell| [false, true].map(|bring| (shell.clone(), bring))) {
        let place = Place::new("removed", &shell);
        fs::create_dir_all(place.path("")).unwrap();
        let content = if bring { REPLACED } else { REMOVED };
        fs::write(place.path(".upload"), content).unwrap();
        if bring {
            fs::write(place.path(".supervisor-x.next"), SUPERVISOR).unwrap();
            fs::set_permissions(place.path(".supervisor-x.next"), fs::Permissions::from_mode(0o700)).unwrap();
        }
        let output = place.spawn_with(content, here(), 500, &all_tools()).wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(if bring { 0 } else { EXIT_UPLOAD }), "{shell:?} {text}");
        assert_eq!(output.stdout.starts_with(b"ready "), bring, "{shell:?} {text}");
    }
}

#[test]
fn another_machine_has_its_own_exit_code_and_says_its_name() {
    for shell in shells() {
        let place = Place::new("machine", &shell);
        let other = if here() == Machine::X86_64 { Machine::Aarch64 } else { Machine::X86_64 };
        let output = place.spawn(other, 500, &all_tools()).wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(EXIT_MACHINE), "{shell:?}");
        assert_eq!(String::from_utf8(output.stderr).unwrap(), format!("{MACHINE_MARK}{}\n", here().name()));
        assert!(!place.folder.join("root").exists());
    }
}

#[test]
fn an_upload_that_never_comes_ends_the_line_even_without_a_sleep_command() {
    for shell in shells() {
        let place = Place::new("never", &shell);
        assert_eq!(place.spawn(here(), 5, &all_tools()).wait().unwrap().code(), Some(EXIT_UPLOAD), "{shell:?}");
    }
    // With the tools that the line needs, but for `sleep` and `uname`.
    let place = Place::new("no sleep", &["/bin/sh"]);
    let tools = place.folder.join("tools");
    fs::create_dir(&tools).unwrap();
    for tool in ["mkdir", "chmod", "wc", "cp", "cat", "mv", "rm"] {
        let real =
            all_tools().split(':').map(|folder| Path::new(folder).join(tool)).find(|path| path.exists()).unwrap();
        std::os::unix::fs::symlink(real, tools.join(tool)).unwrap();
    }
    let start = Instant::now();
    let child = place.spawn(here(), 3000, tools.to_str().unwrap());
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(EXIT_UPLOAD));
    assert!(start.elapsed() < Duration::from_secs(10));
    fs::create_dir_all(place.path("")).unwrap();
    fs::write(place.path(".upload"), SUPERVISOR).unwrap();
    let output = place.spawn(here(), 3000, tools.to_str().unwrap()).wait_with_output().unwrap();
    assert!(output.stdout.starts_with(b"ready "), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_root_that_cannot_be_made_has_its_own_exit_code() {
    for shell in shells() {
        let place = Place::new("blocked", &shell);
        fs::write(place.folder.join("root"), "a file").unwrap();
        let output = place.run();
        assert_eq!(output.status.code(), Some(EXIT_PREPARE), "{shell:?}");
        assert!(!output.stderr.is_empty());
    }
}

#[test]
fn a_binary_that_does_not_run_leaves_nothing_neither_itself_nor_an_environment() {
    let broken: [&'static [u8]; 3] = [b"\x7fELF of no machine", b"#!/no/such/interpreter\n", b"#!/bin/sh\nexit 3\n"];
    for (shell, content) in shells().into_iter().flat_map(|shell| broken.map(|content| (shell.clone(), content))) {
        let place = Place::new("broken", &shell);
        fs::create_dir_all(place.path("")).unwrap();
        fs::write(place.path(".upload"), content).unwrap();
        let output = place.spawn_with(content, here(), 500, &all_tools()).wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let by_itself = output.status.code() == Some(3);
        let by_the_shell =
            matches!(output.status.code(), Some(2 | 126 | 127)) && text.contains(&place.path(".supervisor-x"));
        assert!(by_itself || by_the_shell, "{shell:?} {:?} {text}", output.status);
        assert!(place.names().is_empty(), "{shell:?} {:?}", place.names());
    }
}
