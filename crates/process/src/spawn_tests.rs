//! Tests of both ways to start a program: `spawn` and `prepared`.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::Stage;
use crate::environment::Environment;
use crate::testing::{Fixture, Way, scratch};

fn environment() -> Environment {
    Environment::from_entries([&b"PATH=/usr/local/bin:/usr/bin:/bin"[..], b"A=1"])
}

fn both() -> Vec<Way> {
    vec![
        Way::Clone,
        #[cfg(target_os = "linux")]
        Way::Prepared,
    ]
}

#[cfg(target_os = "linux")]
#[test]
fn c19_a_program_gets_clean_signals_and_only_three_descriptors() {
    // SAFETY: ignoring a signal is undone below; no other test looks at SIGUSR2 of this process.
    unsafe { libc::signal(libc::SIGUSR2, libc::SIG_IGN) };
    let _leak = std::fs::File::open("/dev/null").unwrap();
    // SAFETY: a descriptor without close-on-exec, on purpose.
    let leaked = unsafe { libc::dup(0) };
    for way in both() {
        let status = Fixture::output(way, &["cat", "/proc/self/status"], &environment(), None).unwrap();
        let field = |name: &str| status.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
        assert_eq!(field("SigIgn:").split_whitespace().nth(1), Some("0000000000000000"), "{way:?}");
        assert_eq!(field("SigBlk:").split_whitespace().nth(1), Some("0000000000000000"), "{way:?}");
        let listing = Fixture::output(way, &["sh", "-c", "echo /proc/self/fd/*"], &environment(), None).unwrap();
        let inherited = listing.split_whitespace().filter(|path| path.ends_with(|digit| "012".contains(digit)));
        assert_eq!(inherited.count(), 3, "{way:?}: {listing}");
        // The shell itself holds one for the directory it lists.
        assert!(listing.split_whitespace().count() <= 4, "{way:?}: {listing}");
    }
    // SAFETY: see above.
    unsafe {
        libc::signal(libc::SIGUSR2, libc::SIG_DFL);
        libc::close(leaked);
    }
}

#[test]
fn c11_the_pid_is_also_the_session_and_the_group() {
    for way in both() {
        let child = Fixture::started(way, &["sleep", "60"], &environment());
        let stat = crate::table::stat(child.pid).unwrap();
        assert_eq!((stat.session, stat.group), (child.pid.as_raw_pid(), child.pid.as_raw_pid()));
        child.kill();
    }
}

#[test]
fn c16_an_open_file_that_does_not_wait_does_for_the_program_that_gets_it() {
    for way in both() {
        let (_read, write) = crate::pipe::pair().unwrap();
        crate::stdio::set_nonblocking(&write).unwrap();
        Fixture::started_with(way, &["true"], &environment(), &write).join();
        let flags = rustix::fs::fcntl_getfl(&write).unwrap();
        assert!(!flags.contains(rustix::fs::OFlags::NONBLOCK), "{way:?}");
    }
}

#[test]
fn c21_failures_are_facts_with_their_stage() {
    let directory = scratch("failures");
    let file = |name: &str, text: &str, mode: u32| {
        let path = directory.join(name);
        std::fs::File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let plain = file("plain", "data", 0o644);
    let interpreter = file("interpreter", "#!/no/such/interpreter\n", 0o755);
    let long = "x".repeat(131_072);
    let cases = [
        (vec!["/no/such/program"], None, Stage::Exec, libc::ENOENT),
        (vec!["no-such-program-anywhere"], None, Stage::Exec, libc::ENOENT),
        (vec![plain.as_str()], None, Stage::Exec, libc::EACCES),
        (vec!["/tmp"], None, Stage::Exec, libc::EACCES),
        (vec![interpreter.as_str()], None, Stage::Exec, libc::ENOENT),
        (vec!["true"], Some("/no/such/directory"), Stage::Chdir, libc::ENOENT),
        (vec!["true"], Some(plain.as_str()), Stage::Chdir, libc::ENOTDIR),
        (vec!["true", long.as_str()], None, Stage::Exec, libc::E2BIG),
    ];
    for way in both() {
        for (argv, cwd, stage, errno) in &cases {
            let error = Fixture::output(way, argv, &environment(), *cwd).unwrap_err();
            assert_eq!(error, Failure { stage: *stage, errno: *errno }, "{way:?} {:?}", argv[0]);
        }
    }
}

#[test]
fn c19_a_file_of_unknown_format_runs_by_the_shell_and_a_relative_path_entry_counts_from_cwd() {
    let directory = scratch("formats");
    let script = directory.join("bare");
    std::fs::File::create(&script).unwrap().write_all(b"echo \"$0 $1 $A\"\n").unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut environment = environment();
    environment.set(b"PATH", b"/nowhere:.");
    for way in both() {
        let output = Fixture::output(way, &["bare", "x"], &environment, directory.to_str()).unwrap();
        assert_eq!(output, "./bare x 1\n", "{way:?}");
    }
}

#[test]
fn many_and_long_arguments_go_through_as_far_as_the_kernel_allows() {
    let item = "y".repeat(1000);
    let longest = "x".repeat(131_071);
    for way in both() {
        let many: Vec<&str> = ["sh", "-c", "echo $#", "sh"].into_iter().chain([item.as_str(); 1000]).collect();
        assert_eq!(Fixture::output(way, &many, &environment(), None).unwrap(), "1000\n");
        let one = ["sh", "-c", "echo ${#1}", "sh", longest.as_str()];
        assert_eq!(Fixture::output(way, &one, &environment(), None).unwrap(), "131071\n");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_environment_is_exact_and_settings_arrive() {
    let settings =
        Settings { open_files: Some((77, 88)), umask: Some(0o027), oom_score_adj: Some(123), ..Settings::default() };
    for way in both() {
        let argv = ["sh", "-c", "ulimit -n; ulimit -Hn; umask; cat /proc/self/oom_score_adj; env -u _ -u PWD -u SHLVL"];
        let output = Fixture::output_with(way, &argv, &environment(), None, &settings).unwrap();
        let expected = "77\n88\n0027\n123\nA=1\nPATH=/usr/local/bin:/usr/bin:/bin\n";
        let mut lines: Vec<&str> = output.lines().collect();
        lines[4..].sort_unstable();
        assert_eq!(lines.join("\n") + "\n", expected, "{way:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_failed_start_leaves_no_child_behind() {
    for _ in 0..50 {
        Fixture::output(Way::Clone, &["/no/such/program"], &environment(), None).unwrap_err();
    }
    let zombies = crate::orphans::children()
        .unwrap()
        .into_iter()
        .filter(|&pid| crate::table::stat(pid).is_ok_and(|stat| stat.state == b'Z' && stat.name == b"no-such-clone"));
    assert_eq!(zombies.count(), 0);
}

#[cfg(target_os = "linux")]
#[test]
fn without_a_free_descriptor_both_ways_fail_as_a_fact() {
    const TEST: &str = "spawn::tests::without_a_free_descriptor_both_ways_fail_as_a_fact";
    // The limit is this whole process', so it must be alone.
    if !crate::testing::in_own_pid_namespace(TEST) {
        return;
    }
    let image = crate::testing::image(&["/bin/true"], &environment(), None);
    let null = crate::stdio::null().unwrap();
    let before = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let used = u64::try_from(null.as_raw_fd()).unwrap() + 1;
    let limit = |current| rustix::process::Rlimit { current: Some(current), ..before };
    let set = |current| rustix::process::setrlimit(rustix::process::Resource::Nofile, limit(current)).unwrap();
    use std::os::fd::AsFd;
    set(used);
    let error = spawn(image, [null.as_fd(); 3], false, &Settings::default()).unwrap_err();
    assert_eq!(error.errno(), libc::EMFILE);
    // Room for the control sockets, none for the pidfd.
    set(used + 2);
    let error = crate::prepared::Prepared::fork(&Settings::default()).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::EMFILE));
}
