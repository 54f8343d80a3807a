//! The supervisor's side, scripted by a test: the protocol's own link over pipes in memory.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures_util::future::{BoxFuture, FutureExt as _};
use protocol::{
    Channel, CommandId, Event, Filled, Link, Source, StreamId,
    control::{EndReason, FromSupervisor, OutputChannel, StreamEnd, ToSupervisor, decode},
    decode::Decoder,
    link::{SupervisorConfig, read_hello, ready_message},
    seal::Keys,
    wire::Kind,
};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

use crate::session::{
    clock::Clock,
    connector::{Connection, Connector, Incoming, JoinFailure, Outgoing, SandboxState},
};

const PATIENCE: Duration = Duration::from_secs(20);

/// What a supervisor heard.
#[derive(Debug)]
pub enum Heard {
    /// A wish.
    Control(CommandId, ToSupervisor),
    /// Bytes of an input.
    Data(CommandId, Bytes),
    /// The end of the input.
    End,
}

/// The sandbox, as a test sees it.
#[derive(Clone)]
pub struct Fake(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    heard: tokio::sync::Mutex<UnboundedReceiver<Heard>>,
    tell: UnboundedSender<Heard>,
    clock: Clock,
}

struct State {
    epoch: u64,
    link: Link,
    keys: Keys,
    outputs: Outputs,
    /// The present connection's way down.
    down: Option<mpsc::UnboundedSender<Result<Bytes, String>>>,
    joins: usize,
    unary_messages: usize,
    refuse: Option<JoinFailure>,
    refused: usize,
    sandbox: SandboxState,
    deaf_streaming: bool,
    swallow_joins: bool,
    ended_as_root: Vec<(u32, u64)>,
    signalled_as_root: Vec<(u8, Vec<(u32, u64)>)>,
    refuse_root: bool,
}

#[derive(Default)]
struct Outputs(HashMap<StreamId, (VecDeque<u8>, bool)>);

impl Source for Outputs {
    fn read(&mut self, stream: StreamId, max: usize, out: &mut Vec<u8>) -> Filled {
        let Some((bytes, ended)) = self.0.get_mut(&stream) else { return Filled::Drained };
        let part = bytes.len().min(max);
        out.extend(bytes.drain(..part));
        match (bytes.is_empty(), *ended) {
            (false, _) => Filled::More,
            (true, false) => Filled::Drained,
            (true, true) => Filled::End(StreamEnd { offset: 0, reason: EndReason::Eof, spilled: false }),
        }
    }
}

fn life(epoch: u64, clock: Clock) -> (Link, Keys) {
    let keys = Keys::from_random([u8::try_from(epoch % 251).unwrap_or(1) + 1; 32]);
    (Link::supervisor(SupervisorConfig { epoch, keys: keys.clone() }, clock.now()), keys)
}

impl Fake {
    /// A sandbox with a supervisor that waits to be joined.
    pub fn new() -> Self {
        let clock = Clock::start();
        let (tell, heard) = mpsc::unbounded_channel();
        let (link, keys) = life(1, clock);
        let state = State {
            epoch: 1,
            link,
            keys,
            outputs: Outputs::default(),
            down: None,
            joins: 0,
            unary_messages: 0,
            refuse: None,
            refused: 0,
            sandbox: SandboxState::Running,
            deaf_streaming: false,
            swallow_joins: false,
            ended_as_root: Vec::new(),
            signalled_as_root: Vec::new(),
            refuse_root: false,
        };
        let shared = Arc::new(Shared { state: Mutex::new(state), heard: tokio::sync::Mutex::new(heard), tell, clock });
        let weak = Arc::downgrade(&shared);
        // The link's timers: acknowledgements are held back for a while.
        tokio::spawn(async move {
            while let Some(shared) = weak.upgrade() {
                shared.state.lock().unwrap().flush(clock);
                drop(shared);
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        });
        Self(shared)
    }

    fn with<T>(&self, f: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.0.state.lock().unwrap();
        let value = f(&mut state);
        state.flush(self.0.clock);
        value
    }

    /// The next thing that the supervisor heard.
    pub async fn heard(&self) -> Heard {
        let mut heard = self.0.heard.lock().await;
        tokio::time::timeout(PATIENCE, heard.recv()).await.expect("the supervisor hears something").unwrap()
    }

    /// The next wish, which must be a start.
    pub async fn start(&self) -> (CommandId, Box<protocol::control::Start>) {
        match self.heard().await {
            Heard::Control(id, ToSupervisor::Start(start)) => (id, start),
            other => panic!("expected a start, heard {other:?}"),
        }
    }

    /// Whether the supervisor has heard nothing more.
    pub async fn heard_nothing(&self) -> bool {
        self.0.heard.lock().await.try_recv().is_err()
    }

    /// Says something about a command.
    pub fn say(&self, id: CommandId, message: &FromSupervisor) {
        self.with(|state| state.link.send(id, message));
    }

    /// Raw bytes as a control message.
    pub fn babble(&self, id: CommandId) {
        self.with(|state| state.link.send(id, &0xffff_ffff_u32));
    }

    /// Puts bytes on an output.
    pub fn write(&self, id: CommandId, channel: OutputChannel, bytes: &[u8]) {
        let stream = StreamId { command: id, channel: channel.into() };
        self.with(|state| {
            state.outputs.0.entry(stream).or_default().0.extend(bytes);
            state.link.ready(stream);
        });
    }

    /// Ends an output.
    pub fn end(&self, id: CommandId, channel: OutputChannel) {
        let stream = StreamId { command: id, channel: channel.into() };
        self.with(|state| {
            state.outputs.0.entry(stream).or_default().1 = true;
            state.link.ready(stream);
        });
    }

    /// Ends both outputs.
    pub fn end_outputs(&self, id: CommandId) {
        self.end(id, OutputChannel::Stdout);
        self.end(id, OutputChannel::Stderr);
    }

    /// Cuts the connection.
    pub fn cut(&self) {
        self.with(|state| {
            if let Some(down) = state.down.take() {
                let _ = down.send(Err("cut by the test".into()));
            }
            state.link.disconnect();
        });
    }

    /// The supervisor is killed; another one takes its place at the next join.
    pub fn die(&self) {
        let clock = self.0.clock;
        self.with(|state| {
            state.epoch += 1;
            let (link, keys) = life(state.epoch, clock);
            (state.link, state.keys, state.outputs) = (link, keys, Outputs::default());
        });
        self.cut();
    }

    /// From now on joins fail like this, or succeed.
    pub fn refuse(&self, failure: Option<JoinFailure>) {
        self.with(|state| state.refuse = failure);
    }

    /// What the control plane says.
    pub fn sandbox_is(&self, sandbox: SandboxState) {
        self.with(|state| state.sandbox = sandbox);
    }

    /// The daemon swallows what goes up by the streaming way.
    pub fn without_streaming(&self) {
        self.with(|state| state.deaf_streaming = true);
    }

    /// From now on attempts to join get no answer, or get one.
    pub fn swallow_joins(&self, yes: bool) {
        self.with(|state| state.swallow_joins = yes);
    }

    /// The daemon lets nobody act as root.
    pub fn refuse_root(&self) {
        self.with(|state| state.refuse_root = true);
    }

    /// Signals that were asked of root, and to whom.
    pub fn signalled_as_root(&self) -> Vec<(u8, Vec<(u32, u64)>)> {
        self.with(|state| state.signalled_as_root.clone())
    }

    /// Processes whose end was asked of root.
    pub fn ended_as_root(&self) -> Vec<(u32, u64)> {
        self.with(|state| state.ended_as_root.clone())
    }

    /// Attempts that were not refused so far.
    pub fn joins(&self) -> usize {
        self.with(|state| state.joins)
    }

    /// Waits until an attempt to join was refused: then the loss of the former connection is known.
    pub async fn until_refused(&self) {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        while self.with(|state| state.refused) == 0 {
            assert!(tokio::time::Instant::now() < deadline, "an attempt to join");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Waits until everything that was said is acknowledged.
    pub async fn until_acknowledged(&self) {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        while self.with(|state| state.link.retained()) > 0 {
            assert!(tokio::time::Instant::now() < deadline, "an acknowledgement");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Messages that came as a request each.
    pub fn unary_messages(&self) -> usize {
        self.with(|state| state.unary_messages)
    }

    fn join_now(&self) -> Result<Connection, JoinFailure> {
        let (down, incoming) = mpsc::unbounded_channel();
        let guest = self.with(|state| {
            if let Some(failure) = state.refuse.clone() {
                state.refused += 1;
                return Err(failure);
            }
            state.joins += 1;
            let _ = down.send(Ok(ready_message(state.epoch, &state.keys).into()));
            Ok(state.epoch)
        })?;
        let guest =
            Arc::new(Guest { fake: self.clone(), epoch: guest, down, decoder: Mutex::new(Some(Decoder::default())) });
        Ok(Connection {
            incoming: Box::new(Pipe(incoming)),
            streaming: Arc::new(Way { guest: Arc::clone(&guest), unary: false }),
            streaming_over: std::future::pending().boxed(),
            unary: Arc::new(Way { guest, unary: true }),
        })
    }
}

/// A connection, on the supervisor's side.
struct Guest {
    fake: Fake,
    epoch: u64,
    down: UnboundedSender<Result<Bytes, String>>,
    decoder: Mutex<Option<Decoder>>,
}

impl Guest {
    fn receive(&self, bytes: Bytes, unary: bool) {
        let clock = self.fake.0.clock;
        self.fake.with(|state| {
            if (state.deaf_streaming && !unary) || state.epoch != self.epoch {
                return;
            }
            state.unary_messages += usize::from(unary);
            let mut decoder = self.decoder.lock().unwrap();
            if let Some(greeting) = &mut *decoder {
                greeting.push(bytes);
                let Ok(Some(hello)) = read_hello(greeting, &state.keys) else { return };
                if state.link.accept(clock.now(), &hello, decoder.take().unwrap()).is_ok() {
                    state.down = Some(self.down.clone());
                }
            } else if state.down.as_ref().is_some_and(|down| down.same_channel(&self.down)) {
                state.link.feed(clock.now(), bytes);
            } else {
                return;
            }
            // One by one: a start opens the streams whose bytes follow it.
            while state.link.step(clock.now()).unwrap() {
                state.take_events(&self.fake.0.tell);
            }
            state.take_events(&self.fake.0.tell);
        });
    }
}

impl State {
    fn take_events(&mut self, tell: &UnboundedSender<Heard>) {
        while let Some(event) = self.link.poll_event() {
            match event {
                Event::Control { command, message } => {
                    let message: ToSupervisor = decode(Kind::Control, &message).unwrap();
                    if let ToSupervisor::Start(start) = &message {
                        self.open(command, start);
                    }
                    let _ = tell.send(Heard::Control(command, message));
                }
                Event::Data { stream, bytes } => {
                    self.link.consume(stream, bytes.len() as u64);
                    let _ = tell.send(Heard::Data(stream.command, bytes));
                }
                Event::End { .. } => {
                    let _ = tell.send(Heard::End);
                }
                _ => {}
            }
        }
    }

    fn open(&mut self, command: CommandId, start: &protocol::control::Start) {
        for channel in [Channel::Stdout, Channel::Stderr] {
            self.link.open_outgoing(StreamId { command, channel }, 0);
        }
        if matches!(start.stdio, protocol::control::Stdio::Pipes { stdin: true, .. }) {
            self.link.open_incoming(StreamId { command, channel: Channel::Stdin }, 0);
        }
    }

    fn flush(&mut self, clock: Clock) {
        let Some(down) = &self.down else { return };
        if self.link.poll_timeout().is_some_and(|due| due <= clock.now()) {
            self.link.handle_timeout(clock.now());
        }
        while let Some(message) = self.link.poll_transmit(clock.now(), &mut self.outputs) {
            let _ = down.send(Ok(message.to_bytes()));
        }
    }
}

struct Pipe(UnboundedReceiver<Result<Bytes, String>>);

impl Incoming for Pipe {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Bytes, String>> {
        self.0.poll_recv(cx).map(|heard| heard.unwrap_or(Err("the pipe is closed".into())))
    }
}

struct Way {
    guest: Arc<Guest>,
    unary: bool,
}

impl Outgoing for Way {
    fn send(self: Arc<Self>, message: Bytes) -> BoxFuture<'static, Result<(), String>> {
        async move {
            self.guest.receive(message, self.unary);
            Ok(())
        }
        .boxed()
    }
}

impl Connector for Fake {
    fn join(&self) -> BoxFuture<'static, Result<Connection, JoinFailure>> {
        let fake = self.clone();
        async move {
            let swallowed = fake.with(|state| {
                state.joins += usize::from(state.swallow_joins);
                state.swallow_joins
            });
            if swallowed {
                return std::future::pending().await;
            }
            fake.join_now()
        }
        .boxed()
    }

    fn state(&self) -> BoxFuture<'static, SandboxState> {
        let fake = self.clone();
        async move { fake.with(|state| state.sandbox) }.boxed()
    }

    fn end_process(&self, pid: u32, start_time: u64) -> BoxFuture<'static, Result<(), String>> {
        let refusal = self.with(|state| {
            state.ended_as_root.push((pid, start_time));
            state.refuse_root
        });
        std::future::ready(if refusal { Err("the daemon does not allow it".to_owned()) } else { Ok(()) }).boxed()
    }

    fn signal_processes(&self, signal: u8, members: Vec<(u32, u64)>) -> BoxFuture<'static, Result<(), String>> {
        let refusal = self.with(|state| {
            state.signalled_as_root.push((signal, members));
            state.refuse_root
        });
        std::future::ready(if refusal { Err("the daemon does not allow it".to_owned()) } else { Ok(()) }).boxed()
    }

    fn farewell(&self) -> BoxFuture<'static, ()> {
        std::future::ready(()).boxed()
    }
}
