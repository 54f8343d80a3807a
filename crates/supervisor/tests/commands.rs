//! Starting, exit facts, environment, failures.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod host;

use host::Host;
use protocol::control::{Exit, FromSupervisor, StartStage, Stdio, ToSupervisor};
use protocol::handshake::Settings;
use serde_bytes::ByteBuf;

#[test]
fn c20_every_exit_code_is_exact() {
    let mut host = Host::new("codes");
    let ids: Vec<u32> = (0..=255).map(|code| host.run(&["sh", "-c", &format!("exit {code}")])).collect();
    for (code, id) in (0..=255u8).zip(ids) {
        assert_eq!(host.finish(id).exit, Some(Exit::Code(code)));
    }
}

#[test]
fn c20_every_deadly_signal_is_named_as_it_was() {
    let mut host = Host::new("signals");
    // Not deadly: CHLD 17, CONT 18, STOP 19, TSTP 20, TTIN 21, TTOU 22, URG 23, WINCH 28.
    let deadly: Vec<u8> = (1..=64).filter(|number| !matches!(number, 17..=23 | 28 | 32 | 33)).collect();
    for number in deadly {
        let (exit, _) = host.output(&["sh", "-c", &format!("ulimit -c 0; kill -{number} $$; sleep 60")]);
        assert_eq!(exit, Some(Exit::Signal { number, core: false }));
    }
}

#[test]
fn c13_the_environment_is_ambient_without_secrets_and_with_explicit_changes() {
    let mut host = Host::new("environment");
    let id = host.run_with(&["env"], |start| {
        let set = |name: &[u8], value: &[u8]| (ByteBuf::from(name), Some(ByteBuf::from(value)));
        start.env = vec![set(b"DSH_SET", b"1"), set(b"RAW", b"\xff"), (ByteBuf::from(*b"LANG"), None)];
    });
    let seen = host.finish(id);
    let lines: Vec<&[u8]> = seen.output[0].split(|&byte| byte == b'\n').collect();
    let has = |line: &[u8]| lines.contains(&line);
    assert!(has(b"AMBIENT=seen") && has(b"DSH_SET=1") && has(b"RAW=\xff"), "{}", seen.text());
    for absent in ["MY_TOKEN=", "DSH_X=", "LANG="] {
        assert!(!lines.iter().any(|line| line.starts_with(absent.as_bytes())), "{absent}");
    }
}

#[test]
fn c19_programs_have_clean_signals_three_descriptors_the_joiner_s_umask_and_limits() {
    let mut host = Host::new("clean");
    let (_, text) = host.output(&["sh", "-c", "cat /proc/self/status; umask; ulimit -n; echo /proc/self/fd/*"]);
    for set in ["SigIgn", "SigBlk"] {
        assert!(text.contains(&format!("{set}:\t0000000000000000")), "{text}");
    }
    let (umask, own) = (rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022)), "0022");
    rustix::process::umask(umask);
    assert!(text.contains(own), "{text}");
    assert!(!text.contains("/fd/4"), "{text}");
}

#[test]
fn c21_a_start_that_fails_says_why() {
    let mut host = Host::new("failures");
    let cases: [(&str, &str, i32, StartStage); 4] = [
        ("no-such-program", "/", libc::ENOENT, StartStage::Exec),
        ("/etc/passwd", "/", libc::EACCES, StartStage::Exec),
        ("true", "/no/such/directory", libc::ENOENT, StartStage::Cwd),
        ("true", "/etc/passwd", libc::ENOTDIR, StartStage::Cwd),
    ];
    for (program, cwd, errno, stage) in cases {
        let id = host.run_with(&[program], |start| start.cwd = ByteBuf::from(cwd));
        let failure = host.finish(id).failure.clone().unwrap();
        assert_eq!((failure.errno, failure.stage), (errno, stage), "{program} in {cwd}");
    }
}

#[test]
fn c19_a_relative_directory_counts_from_the_home_and_never_from_the_runtime_root() {
    let mut host = Host::new("directories");
    let home = host.output(&["sh", "-c", "cd && pwd -P"]).1;
    for cwd in ["", ".", "~", "~/", "~/."] {
        let id = host.run_with(&["sh", "-c", "pwd -P"], |start| start.cwd = ByteBuf::from(cwd));
        assert_eq!(host.finish(id).text(), home, "{cwd:?}");
    }
    let id = host.run_with(&["true"], |start| start.cwd = ByteBuf::from(b"no-such-directory"));
    let failure = host.finish(id).failure.clone().unwrap();
    assert_eq!((failure.errno, failure.stage), (libc::ENOENT, StartStage::Cwd));
}

#[test]
fn c11_a_prepared_process_becomes_the_program_under_its_known_id() {
    let mut host = Host::new("prepared");
    host.until("prepared processes", |host| host.prepared.len() >= 4);
    let known = host.prepared[0];
    let id = host.run(&["sh", "-c", "echo $$; ps -o sid=,pgid= -p $$"]);
    let seen = host.finish(id);
    assert_eq!(seen.pid, Some(known));
    let numbers: Vec<u32> = seen.text().split_whitespace().map(|word| word.parse().unwrap()).collect();
    assert_eq!(numbers, [known; 3]);
}

#[test]
fn c11_a_prepared_process_that_was_killed_is_replaced_by_another() {
    let mut host = Host::new("killed");
    host.until("prepared processes", |host| host.prepared.len() >= 4);
    let known = host.prepared[0];
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(known.cast_signed()).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    let id = host.run(&["echo", "hi"]);
    let seen = host.finish(id);
    assert_eq!(seen.text(), "hi\n");
    assert!(seen.pid.is_some_and(|pid| pid != known));
}

#[test]
fn a_thousand_commands_at_once_all_end_with_their_output() {
    let mut host = Host::new("thousand");
    let ids: Vec<u32> = (0..1000).map(|number| host.run(&["sh", "-c", &format!("echo {number}; exit 7")])).collect();
    for (number, id) in ids.into_iter().enumerate() {
        let seen = host.finish(id);
        assert_eq!((seen.exit, seen.text()), (Some(Exit::Code(7)), format!("{number}\n")));
    }
}

#[test]
fn long_arguments_and_environments_travel_whole() {
    let mut host = Host::new("long");
    let (longest, many) = ("x".repeat(131_071), "y".repeat(1000));
    let mut argv = vec!["sh", "-c", "echo $# ${#1} ${#V}", "sh", longest.as_str()];
    argv.extend([many.as_str(); 1000]);
    let value = ByteBuf::from(vec![b'v'; 131_000]);
    let id = host.run_with(&argv, |start| start.env = vec![(ByteBuf::from(*b"V"), Some(value))]);
    host.until("its end", |host| host.commands[&id].is_over());
    assert_eq!(host.finish(id).text(), "1001 131071 131000\n");
    let id = host.run(&["true", &"x".repeat(131_072)]);
    assert_eq!(host.finish(id).failure.as_ref().unwrap().errno, libc::E2BIG);
}

#[test]
fn c80_a_list_of_running_commands_with_very_long_words_can_be_sent() {
    let mut host = Host::new("list");
    let word = "x".repeat(100_000);
    let argv: Vec<&str> = ["sh", "-c", "sleep 6010", "sh"].into_iter().chain([word.as_str(); 15]).collect();
    let ids: Vec<u32> = (0..8).map(|_| host.run(&argv)).collect();
    for &id in &ids {
        host.started(id);
    }
    host.link.send(0, &ToSupervisor::ListRunning);
    let list = |host: &Host| {
        host.about_supervisor.iter().find_map(|message| match message {
            FromSupervisor::Running(list) => Some(list.clone()),
            _ => None,
        })
    };
    host.until("the list", |host| list(host).is_some());
    let listed = list(&host).unwrap();
    assert_eq!(listed.len(), ids.len());
    let whole = listed.iter().filter(|one| one.argv.len() == argv.len()).count();
    assert!((2..8).contains(&whole), "{whole}");
    for id in ids {
        host.terminate(id);
        host.finish(id);
    }
}

#[test]
fn both_streams_are_complete_on_every_run() {
    let mut host = Host::new("complete");
    let ids: Vec<u32> = (0..40).map(|_| host.run(&["sh", "-c", "seq 1 20000; seq 1 20000 >&2; exit 3"])).collect();
    let expected: String = (1..=20000).map(|number| format!("{number}\n")).collect();
    for id in ids {
        let seen = host.finish(id);
        assert_eq!(seen.exit, Some(Exit::Code(3)));
        assert!(seen.output[0] == expected.as_bytes() && seen.output[1] == expected.as_bytes());
    }
}

#[test]
fn c14_ignored_input_is_the_null_device() {
    let mut host = Host::new("null");
    let id = host.run_with(&["readlink", "/proc/self/fd/0"], |start| {
        let Stdio::Pipes { stdin, .. } = &mut start.stdio else { unreachable!() };
        *stdin = false;
    });
    assert_eq!(host.finish(id).text(), "/dev/null\n");
}

#[test]
fn c13_a_file_with_the_environment_counts_instead_of_what_a_shell_made_of_it() {
    let root = host::scratch("given");
    let given = root.join("environment.1");
    std::fs::write(&given, b"SHLVL=7\0PWD=/usr\0a.b=in\nlines\0FOO-BAR=\xff\0A_TOKEN=secret\0").unwrap();
    let mut host = Host::session(&root, Settings::default(), true);
    host.connect(host::Line::open_as(&["env", "SHLVL=0", "PWD=/added"], &[&root, &given]));
    let (_, text) = host.output(&["/usr/bin/env", "-0"]);
    let mut seen: Vec<&str> = text.split_terminator('\0').filter(|entry| !entry.starts_with("HOME=")).collect();
    seen.sort_unstable();
    assert_eq!(seen, ["FOO-BAR=\u{fffd}", "PWD=/usr", "SHLVL=7", "a.b=in\nlines"]);
    assert!(!given.exists());
    // Without one its own counts, and with one that could not be made.
    for arguments in [vec![root.as_path()], vec![root.as_path(), given.as_path()]] {
        host.connect(host::Line::open_as(&["env", "-C", "/usr", "PWD=/usr", "SHLVL=3"], &arguments));
        let (_, text) = host.output(&["/usr/bin/env"]);
        // Where the joiner was started is not where programs are.
        assert!(text.contains("SHLVL=3\n") && !text.contains("\nPWD="), "{text}");
    }
}

#[test]
fn c13_a_login_environment_is_read_when_it_is_asked_for() {
    for login_environment in [true, false] {
        let home = host::scratch("login-home");
        std::fs::write(home.join(".profile"), "export FROM_PROFILE=yes\necho noise\n").unwrap();
        std::fs::write(home.join(".bash_profile"), ". ~/.profile\n").unwrap();
        let root = host::scratch("login");
        let settings = Settings { login_environment, ..Settings::default() };
        let mut host = Host::session(&root, settings, true);
        let home_variable = format!("HOME={}", home.display());
        let own = ["env", "-u", "PWD", "-u", "OLDPWD", "-u", "SHLVL", "-u", "_", &home_variable];
        host.connect(host::Line::open_with(&own, &root));
        let (_, text) = host.output(&["sh", "-c", "echo ${FROM_PROFILE-no} $AMBIENT ${MY_TOKEN-none}"]);
        let expected = if login_environment { "yes seen none\n" } else { "no seen none\n" };
        assert_eq!(text, expected);
        let (_, text) = host.output(&["env"]);
        let invented = |line: &str| ["PWD=", "OLDPWD=", "SHLVL=", "_="].iter().any(|name| line.starts_with(name));
        assert!(!text.lines().any(invented), "{text}");
        host.shut_down();
        std::fs::remove_dir_all(home).unwrap();
    }
}
