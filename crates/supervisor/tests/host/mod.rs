//! A host for tests: speaks the protocol with a built supervisor over the pipes of `supervisor join`.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
#![allow(dead_code, reason = "each test file uses its own part")]

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio as ProcessStdio};
use std::time::{Duration, Instant};

use bytes::Bytes;
use protocol::control::{
    EndReason, Exit, FromSupervisor, Output, OutputChannel, Spill, Start, StartFailure, Stdio, StreamEnd, Survivor,
    ToSupervisor, decode,
};
use protocol::handshake::Settings;
use protocol::link::HostConfig;
use protocol::seal::Keys;
use protocol::wire::Kind;
use protocol::{Channel, Event, Filled, Link, Source, StreamId, Time};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_bytes::ByteBuf;

pub const DEADLINE: Duration = Duration::from_secs(30);

/// What became of one command.
#[derive(Debug, Default)]
pub struct Seen {
    pub pid: Option<u32>,
    pub start_time: u64,
    pub spill: [Option<PathBuf>; 2],
    pub failure: Option<StartFailure>,
    pub exit: Option<Exit>,
    pub exited_at: Option<Instant>,
    pub gone: bool,
    pub survivor: Option<Survivor>,
    pub stdin_closed: bool,
    pub output: [Vec<u8>; 2],
    pub received: [u64; 2],
    pub ends: [Option<StreamEnd>; 2],
    pub spilled: [u64; 2],
    pub spill_lost: [bool; 2],
    pub answers: Vec<FromSupervisor>,
    /// How much of the standard output had come when the last answer came.
    pub shown_before_answer: usize,
}

impl Seen {
    pub fn is_over(&self) -> bool {
        self.failure.is_some() || (self.exit.is_some() && self.gone && self.ends.iter().all(Option::is_some))
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.output[0]).into_owned()
    }
}

#[derive(Default)]
struct Feed {
    streams: HashMap<StreamId, (VecDeque<u8>, bool)>,
}

impl Source for Feed {
    fn read(&mut self, stream: StreamId, max: usize, out: &mut Vec<u8>) -> Filled {
        let Some((bytes, ends)) = self.streams.get_mut(&stream) else { return Filled::Drained };
        let count = bytes.len().min(max);
        out.extend(bytes.drain(..count));
        if !bytes.is_empty() {
            return Filled::More;
        }
        if *ends {
            self.streams.remove(&stream);
            return Filled::End(StreamEnd { offset: 0, reason: EndReason::Eof, spilled: false });
        }
        Filled::Drained
    }
}

/// The supervisor under test: the one that was built with the tests, or the one that `DSH_TEST_SUPERVISOR` names.
pub fn binary() -> String {
    std::env::var("DSH_TEST_SUPERVISOR").unwrap_or_else(|_| env!("CARGO_BIN_EXE_supervisor").to_owned())
}

/// A connection to a resident.
pub struct Line {
    pub joiner: Child,
    input: Option<OwnedFd>,
    output: OwnedFd,
    pending: Vec<u8>,
}

impl Line {
    /// Starts `supervisor join` in `root`.
    pub fn open(root: &Path) -> Self {
        Self::open_with(&[], root)
    }

    /// The same behind a command prefix, such as `setpriv …`.
    pub fn open_with(prefix: &[&str], root: &Path) -> Self {
        Self::open_as(prefix, &[root])
    }

    /// The same with what comes behind `join`.
    pub fn open_as(prefix: &[&str], arguments: &[&Path]) -> Self {
        let binary = binary();
        let mut words = prefix.iter().map(ToString::to_string).chain([binary, "join".into()]);
        let mut command = Command::new(words.next().unwrap());
        command.args(words).args(arguments).stdin(ProcessStdio::piped()).stdout(ProcessStdio::piped());
        command.env("AMBIENT", "seen").env("MY_TOKEN", "secret").env("DSH_X", "y");
        let mut joiner = command.spawn().unwrap();
        let input: OwnedFd = joiner.stdin.take().unwrap().into();
        let output: OwnedFd = joiner.stdout.take().unwrap().into();
        process::stdio::set_nonblocking(&input).unwrap();
        process::stdio::set_nonblocking(&output).unwrap();
        Self { joiner, input: Some(input), output, pending: Vec::new() }
    }
}

pub struct Host {
    pub root: PathBuf,
    pub line: Option<Line>,
    pub link: Link,
    pub commands: HashMap<u32, Seen>,
    pub prepared: VecDeque<u32>,
    /// Streams that nobody reads.
    pub paused: HashSet<StreamId>,
    /// Whether bytes are kept or only counted.
    pub keep: bool,
    pub about_supervisor: Vec<FromSupervisor>,
    pub refused: bool,
    pub other_epoch: bool,
    feed: Feed,
    next: u32,
    start: Instant,
    owns_root: bool,
}

/// A fresh private directory.
pub fn scratch(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("supervisor-test-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    process::spill::private_directory(&path).unwrap();
    path
}

impl Host {
    /// A fresh session in a fresh runtime root.
    pub fn new(name: &str) -> Self {
        Self::with_settings(name, Settings::default())
    }

    pub fn with_settings(name: &str, settings: Settings) -> Self {
        let root = scratch(name);
        let mut host = Self::session(&root, settings, true);
        host.connect(Line::open(&root));
        host
    }

    /// A session that is not connected yet.
    pub fn session(root: &Path, settings: Settings, fresh: bool) -> Self {
        let keys = Keys::from_random([7; 32]);
        let config = HostConfig { token: [5; 32], sandbox: "box".into(), settings, keys, fresh };
        let start = Instant::now();
        Self {
            root: root.to_owned(),
            line: None,
            link: Link::host(config, Time(1)),
            commands: HashMap::new(),
            prepared: VecDeque::new(),
            paused: HashSet::new(),
            keep: true,
            about_supervisor: Vec::new(),
            refused: false,
            other_epoch: false,
            feed: Feed::default(),
            next: 0,
            start,
            owns_root: fresh,
        }
    }

    /// A session that means another sandbox.
    pub fn session_in(root: &Path, sandbox: &str) -> Self {
        let mut session = Self::session(root, Settings::default(), false);
        let keys = Keys::from_random([8; 32]);
        let settings = Settings::default();
        let config = HostConfig { token: [5; 32], sandbox: sandbox.into(), settings, keys, fresh: true };
        session.link = Link::host(config, Time(1));
        session
    }

    /// A session of somebody else.
    pub fn session_with_token(root: &Path, token: [u8; 32]) -> Self {
        let mut session = Self::session(root, Settings::default(), false);
        let keys = Keys::from_random([8; 32]);
        let config = HostConfig { token, sandbox: "box".into(), settings: Settings::default(), keys, fresh: true };
        session.link = Link::host(config, Time(1));
        session
    }

    pub fn connect(&mut self, line: Line) {
        let now = self.now();
        self.link.connect(now, false);
        self.line = Some(line);
    }

    pub fn connect_sealed(&mut self, line: Line) {
        let now = self.now();
        self.link.connect(now, true);
        self.line = Some(line);
    }

    /// Expects output of a command that an earlier session started.
    pub fn expect_command(&mut self, id: u32) {
        self.commands.insert(id, Seen::default());
        for channel in [Channel::Stdout, Channel::Stderr] {
            self.link.open_incoming(StreamId { command: id, channel }, 0);
        }
    }

    fn now(&self) -> Time {
        Time(1_000_000 + u64::try_from(self.start.elapsed().as_micros()).unwrap())
    }

    /// Drops the connection, bytes on it and all.
    pub fn cut(&mut self) {
        self.link.disconnect();
        if let Some(mut line) = self.line.take() {
            drop((line.input.take(), line.output));
            line.joiner.wait().unwrap();
        }
    }

    // ---- what a host asks for ----

    pub fn send(&mut self, id: u32, message: &ToSupervisor) {
        self.link.send(id, message);
    }

    /// Starts a command with everything collected.
    pub fn run(&mut self, argv: &[&str]) -> u32 {
        let drained = || Output::Drained { spill: None };
        self.run_with(argv, |start| start.stdio = Stdio::Pipes { stdin: false, stdout: drained(), stderr: drained() })
    }

    /// Starts a command with a piped standard input and raw outputs.
    pub fn run_piped(&mut self, argv: &[&str]) -> u32 {
        self.run_with(argv, |start| {
            start.stdio = Stdio::Pipes { stdin: true, stdout: Output::Raw, stderr: Output::Raw };
        })
    }

    pub fn run_in_terminal(&mut self, argv: &[&str]) -> u32 {
        self.run_with(argv, |start| start.stdio = Stdio::Terminal { rows: 40, cols: 120 })
    }

    /// Starts a command whose standard output is spilled.
    pub fn run_spilled(&mut self, argv: &[&str], tail: u64, cap: u64) -> u32 {
        self.run_with(argv, |start| {
            let stdout = Output::Drained { spill: Some(Spill { tail, cap }) };
            start.stdio = Stdio::Pipes { stdin: false, stdout, stderr: Output::Drained { spill: None } };
        })
    }

    pub fn run_with(&mut self, argv: &[&str], change: impl FnOnce(&mut Start)) -> u32 {
        self.next += 1;
        let id = self.next;
        let mut start = Start {
            argv: argv.iter().map(|argument| ByteBuf::from(argument.as_bytes())).collect(),
            cwd: ByteBuf::from(*b"/"),
            env: Vec::new(),
            grace_ms: 2000,
            prepared: self.prepared.pop_front(),
            stdio: Stdio::Pipes { stdin: false, stdout: Output::Raw, stderr: Output::Raw },
        };
        change(&mut start);
        let mut seen = Seen::default();
        if matches!(start.stdio, Stdio::Terminal { .. }) {
            // There is no other output to wait for.
            seen.ends[1] = Some(StreamEnd { offset: 0, reason: EndReason::Closed, spilled: false });
        }
        self.commands.insert(id, seen);
        for channel in [Channel::Stdout, Channel::Stderr] {
            self.link.open_incoming(StreamId { command: id, channel }, 0);
        }
        let stdin = StreamId { command: id, channel: Channel::Stdin };
        self.link.open_outgoing(stdin, 0);
        self.feed.streams.insert(stdin, (VecDeque::new(), false));
        self.send(id, &ToSupervisor::Start(Box::new(start)));
        id
    }

    pub fn write(&mut self, id: u32, bytes: &[u8]) {
        let stream = StreamId { command: id, channel: Channel::Stdin };
        self.feed.streams.get_mut(&stream).unwrap().0.extend(bytes);
        self.link.ready(stream);
    }

    pub fn end_input(&mut self, id: u32) {
        let stream = StreamId { command: id, channel: Channel::Stdin };
        self.feed.streams.get_mut(&stream).unwrap().1 = true;
        self.link.ready(stream);
    }

    /// Bytes of a command's input that have not left.
    pub fn unsent_input(&self, id: u32) -> usize {
        let stream = StreamId { command: id, channel: Channel::Stdin };
        self.feed.streams.get(&stream).map_or(0, |(bytes, _)| bytes.len())
    }

    pub fn terminate(&mut self, id: u32) {
        self.send(id, &ToSupervisor::Terminate);
    }

    // ---- what comes back ----

    /// Moves bytes until `done`, or fails with `what`.
    pub fn until(&mut self, what: &str, mut done: impl FnMut(&mut Self) -> bool) {
        let deadline = Instant::now() + DEADLINE;
        while !done(self) {
            assert!(Instant::now() < deadline, "timed out waiting for {what}: {:?}", self.digest());
            self.pump(Duration::from_millis(20));
        }
    }

    /// Moves bytes for a while.
    pub fn pump_for(&mut self, time: Duration) {
        let until = Instant::now() + time;
        while Instant::now() < until {
            self.pump(Duration::from_millis(5));
        }
    }

    fn digest(&self) -> Vec<String> {
        let lines = self.commands.iter().filter(|(_, seen)| !seen.is_over()).take(5);
        lines
            .map(|(id, seen)| {
                let tail = |index: usize| {
                    let bytes = &seen.output[index];
                    String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(300)..]).into_owned()
                };
                format!(
                    "{id}: pid {:?} failure {:?} exit {:?} gone {} ends {:?} stdout {:?} stderr {:?}",
                    seen.pid,
                    seen.failure,
                    seen.exit,
                    seen.gone,
                    seen.ends,
                    tail(0),
                    tail(1)
                )
            })
            .collect()
    }

    pub fn finish(&mut self, id: u32) -> &Seen {
        self.until("a command's end", |host| host.commands[&id].is_over());
        &self.commands[&id]
    }

    pub fn started(&mut self, id: u32) -> u32 {
        self.until("a start", |host| host.commands[&id].pid.is_some());
        self.commands[&id].pid.unwrap()
    }

    pub fn until_text(&mut self, id: u32, text: &str) {
        self.until(text, |host| host.commands[&id].text().contains(text));
    }

    /// Runs a command to its end: its exit and its standard output.
    pub fn output(&mut self, argv: &[&str]) -> (Option<Exit>, String) {
        let id = self.run(argv);
        let seen = self.finish(id);
        (seen.exit, seen.text())
    }

    pub fn pump(&mut self, wait: Duration) {
        self.transmit();
        let Some(line) = &self.line else { return std::thread::sleep(wait) };
        let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(wait.subsec_nanos()) };
        let mut set = vec![PollFd::new(&line.output, PollFlags::IN)];
        if let Some(input) = line.input.as_ref().filter(|_| !line.pending.is_empty()) {
            set.push(PollFd::new(input, PollFlags::OUT));
        }
        let _ = poll(&mut set, Some(&timeout));
        let mut buffer = vec![0; 256 * 1024];
        match rustix::io::read(&line.output, &mut buffer) {
            Ok(0) => {
                self.link.disconnect();
                self.hang_up();
            }
            Ok(count) => {
                let now = self.now();
                self.link.receive(now, Bytes::copy_from_slice(&buffer[..count])).unwrap();
            }
            Err(error) => assert_eq!(error, rustix::io::Errno::AGAIN),
        }
        let now = self.now();
        if self.link.poll_timeout().is_some_and(|due| due <= now) {
            self.link.handle_timeout(now);
        }
        self.events();
        self.transmit();
    }

    fn hang_up(&mut self) {
        if let Some(mut line) = self.line.take() {
            line.input = None;
            line.joiner.wait().unwrap();
        }
    }

    fn transmit(&mut self) {
        loop {
            let now = self.now();
            let Some(line) = &mut self.line else { return };
            if line.pending.is_empty() {
                match self.link.poll_transmit(now, &mut self.feed) {
                    Some(message) => line.pending = message.to_bytes().to_vec(),
                    None => return,
                }
            }
            let Some(input) = &line.input else { return };
            match rustix::io::write(input.as_fd(), &line.pending) {
                Ok(count) => drop(line.pending.drain(..count)),
                Err(_) => return,
            }
        }
    }

    fn events(&mut self) {
        while let Some(event) = self.link.poll_event() {
            match event {
                Event::Control { command, message } => {
                    let message = decode::<FromSupervisor>(Kind::Control, &message).unwrap();
                    self.on_control(command, message);
                }
                Event::Data { stream, bytes } => {
                    let index = usize::from(stream.channel == Channel::Stderr);
                    if !self.paused.contains(&stream) {
                        self.link.consume(stream, bytes.len() as u64);
                    }
                    let keep = self.keep;
                    let seen = self.commands.get_mut(&stream.command).unwrap();
                    seen.received[index] += bytes.len() as u64;
                    if keep {
                        seen.output[index].extend_from_slice(&bytes);
                    }
                }
                Event::End { stream, end } => {
                    let index = usize::from(stream.channel == Channel::Stderr);
                    if let Some(seen) = self.commands.get_mut(&stream.command) {
                        seen.ends[index] = Some(end);
                    }
                }
                Event::Ready { .. } | Event::Attached => {}
                Event::Refused(_) => self.refused = true,
                Event::OtherEpoch { .. } => self.other_epoch = true,
                Event::Silent => panic!("the supervisor fell silent"),
            }
        }
    }

    fn on_control(&mut self, id: u32, message: FromSupervisor) {
        if id == 0 {
            if let FromSupervisor::Prepared { pids } = message {
                self.prepared.extend(pids);
            } else {
                self.about_supervisor.push(message);
            }
            return;
        }
        let seen = self.commands.entry(id).or_default();
        let index = |output| usize::from(output == OutputChannel::Stderr);
        match message {
            FromSupervisor::Started { pid, start_time, spill } => {
                seen.pid = Some(pid);
                seen.start_time = start_time;
                let path = |path: ByteBuf| PathBuf::from(String::from_utf8(path.into_vec()).unwrap());
                seen.spill = spill.map(|spill| spill.map(path));
            }
            FromSupervisor::StartFailed(failure) => seen.failure = Some(failure),
            FromSupervisor::Exited(exit) => {
                seen.exit = Some(exit);
                seen.exited_at = Some(Instant::now());
            }
            FromSupervisor::Gone => seen.gone = true,
            FromSupervisor::CleanupFailed(survivor) => seen.survivor = Some(survivor),
            FromSupervisor::StdinClosed => seen.stdin_closed = true,
            FromSupervisor::Spilled { output, offset } => seen.spilled[index(output)] = offset,
            FromSupervisor::SpillLost { output } => seen.spill_lost[index(output)] = true,
            other => {
                seen.shown_before_answer = seen.output[0].len();
                seen.answers.push(other);
            }
        }
    }

    /// Ends the resident and waits until it and its state are gone.
    pub fn shut_down(&mut self) -> Vec<Survivor> {
        self.send(0, &ToSupervisor::Shutdown);
        self.until("the supervisor's end", |host| host.line.is_none());
        let root = self.root.clone();
        self.until("the removal of its door", |_| !root.join("supervisor.sock").exists());
        let ended = self.about_supervisor.iter().find_map(|message| match message {
            FromSupervisor::Ended { survivors } => Some(survivors.clone()),
            _ => None,
        });
        ended.unwrap()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        if std::thread::panicking() {
            if let Some(line) = &mut self.line {
                let _ = line.joiner.kill();
            }
            // The resident goes by itself when it is told to; a failed test leaves it to its orphan timeout otherwise.
            return;
        }
        if self.line.is_some() && !self.refused {
            self.shut_down();
        }
        if self.owns_root {
            let _ = std::fs::remove_dir_all(&self.root);
        }
    }
}

/// Waits for what needs no bytes to move.
pub fn wait_for(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !condition() {
        assert!(Instant::now() < deadline, "timed out waiting for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Guardian and worker of a connected host. As long as the joiner that started them waits, the guardian is its child.
pub fn resident(host: &Host) -> (u32, u32) {
    let children = |pid: u32| -> Vec<u32> {
        let list = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        list.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
    };
    let guardian = children(host.line.as_ref().unwrap().joiner.id())[0];
    (guardian, children(guardian)[0])
}

/// True inside the namespace. Outside, runs the named test there, alone, checks that it passed, and gives false.
pub fn in_own_pid_namespace(test: &str) -> bool {
    const MARK: &str = "SUPERVISOR_TEST_IN_NAMESPACE";
    if std::env::var_os(MARK).is_some() {
        return true;
    }
    let output = Command::new("unshare")
        .args(["--pid", "--fork", "--kill-child", "--mount-proc"])
        .arg(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env(MARK, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    false
}

/// Whether a process with this id lives.
pub fn lives(pid: u32) -> bool {
    let path = format!("/proc/{pid}/stat");
    std::fs::read_to_string(path).is_ok_and(|stat| !stat.contains(") Z "))
}

/// Ids of all processes whose command line holds `marker`.
pub fn processes_with(marker: &str) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if pid != std::process::id() && line.contains(marker) {
            found.insert(pid);
        }
    }
    found
}
