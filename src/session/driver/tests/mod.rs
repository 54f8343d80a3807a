//! The driver against a scripted supervisor.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed test may panic")]

mod endings;
mod fake;
mod lines;
mod lost;
mod streams;

use std::{sync::Arc, time::Duration};

use protocol::{
    control::{Exit, FromSupervisor, Output, OutputChannel, Spill, Start, Stdio},
    handshake::{Settings, Timing},
};
use tokio::runtime::Handle;

use self::fake::Fake;
use crate::session::{
    Session,
    command::{Command, Tree},
    output::Mode,
    secrets::Secrets,
    settings::SessionSettings,
    wake::Wakes,
};

const PATIENCE: Duration = Duration::from_secs(20);

/// A session with a scripted supervisor.
struct World {
    fake: Fake,
    wakes: Arc<Wakes>,
    news: tokio::sync::mpsc::UnboundedReceiver<()>,
    session: Arc<Session>,
}

impl World {
    fn new() -> Self {
        Self::lost_after(Duration::from_secs(60))
    }

    fn lost_after(lost_after: Duration) -> Self {
        Self::with(Fake::new(), lost_after)
    }

    /// A connection, or an attempt at one, that is silent for so long is given up.
    fn silent_after(silence: Duration) -> Self {
        let timing = Timing::streaming(u32::try_from(silence.as_millis()).unwrap());
        Self::with_settings(
            Fake::new(),
            SessionSettings {
                supervisor: Settings { timing, ..Settings::default() },
                lost_after: PATIENCE,
                resumes: false,
            },
        )
    }

    fn with(fake: Fake, lost_after: Duration) -> Self {
        Self::with_settings(fake, SessionSettings { supervisor: Settings::default(), lost_after, resumes: false })
    }

    fn with_settings(fake: Fake, settings: SessionSettings) -> Self {
        let wakes = Arc::new(Wakes::default());
        let (tell, news) = tokio::sync::mpsc::unbounded_channel();
        wakes.on_change(move || {
            let _ = tell.send(());
        });
        let session = Session::begin(
            &Handle::current(),
            "isandbox".into(),
            settings,
            Secrets::new().unwrap(),
            Arc::new(fake.clone()),
        );
        Self { fake, wakes, news, session }
    }

    /// Waits, woken by news as the shim is, until `ready` gives something.
    async fn until<T>(&mut self, what: &str, mut ready: impl FnMut() -> Option<T>) -> T {
        tokio::time::timeout(PATIENCE, async {
            loop {
                self.wakes.drain();
                if let Some(value) = ready() {
                    return value;
                }
                self.news.recv().await.unwrap();
            }
        })
        .await
        .unwrap_or_else(|_| panic!("never: {what}"))
    }

    fn command(&self, input: bool, modes: [Mode; 2]) -> Arc<Command> {
        let reserved = self.session.reserve();
        Command::new(Arc::clone(&self.wakes), "prog".into(), input, modes.map(Some), reserved)
    }

    fn start(&self, command: &Arc<Command>, input: bool, modes: [Mode; 2], grace_ms: u32) {
        let [stdout, stderr] = modes.map(|mode| match mode {
            Mode::Raw => Output::Raw,
            Mode::Drained => Output::Drained { spill: None },
            Mode::Tail { window, spill } => {
                Output::Drained { spill: spill.map(|cap| Spill { tail: u64::try_from(window).unwrap(), cap }) }
            }
        });
        let start = Start {
            argv: vec![b"prog".to_vec().into()],
            cwd: b"/".to_vec().into(),
            env: Vec::new(),
            grace_ms,
            prepared: None,
            stdio: Stdio::Pipes { stdin: input, stdout, stderr },
        };
        self.session.start(command, start);
    }

    /// A started command with collected outputs.
    async fn running(&mut self) -> (u32, Arc<Command>) {
        self.running_with(false, [COLLECT; 2], 1000).await
    }

    async fn running_with(&mut self, input: bool, modes: [Mode; 2], grace_ms: u32) -> (u32, Arc<Command>) {
        let command = self.command(input, modes);
        self.start(&command, input, modes, grace_ms);
        let (id, _) = self.fake.start().await;
        self.fake.say(id, &FromSupervisor::Started { pid: 1000 + id, start_time: 5, spill: [None, None] });
        let seen = Arc::clone(&command);
        self.until("the start is known", || seen.is_started().then_some(())).await;
        (id, command)
    }

    async fn outcome(
        &mut self,
        command: &Arc<Command>,
    ) -> Result<crate::session::command::Outcome, crate::session::failure::Failure> {
        let command = Arc::clone(command);
        self.until("an outcome", || command.outcome()).await
    }

    async fn tree(&mut self, command: &Arc<Command>) -> Tree {
        let command = Arc::clone(command);
        self.until("the tree's end", || (command.tree() != Tree::Alive).then(|| command.tree())).await
    }

    fn exit(&self, id: u32, code: u8) {
        self.fake.say(id, &FromSupervisor::Exited(Exit::Code(code)));
    }
}

const COLLECT: Mode = Mode::Tail { window: 64, spill: None };
const STDOUT: OutputChannel = OutputChannel::Stdout;
