//! The task that drives one session: it owns the link and its connection, and everything that is under way.
//!
//! | part | concern |
//! |---|---|
//! | [`active`] | what the driver itself knows of a command |
//! | [`line`] | the connection, or the way to one |
//! | [`adopt`] | what a predecessor left running |
//! | [`absence`] | how long there has been no connection |
//! | [`news`] | readers that are to be woken |
//! | `ops` | what JavaScript asks |
//! | `events` | what the supervisor says |
//! | `control` | what it says about commands |
//! | `connect` | the life of the connection |
//! | `give_up` | a sandbox that stayed unreachable |
//! | `settle` | when a command is over |
//! | `survivor` | members of a tree that belong to another user |
//! | `lost` | commands of supervisors that were killed |
//! | `over` | the end of the session |

mod absence;
mod active;
mod adopt;
mod connect;
mod control;
mod events;
mod give_up;
mod line;
mod lost;
mod news;
mod ops;
mod over;
mod settle;
mod survivor;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeSet, HashMap},
    future::Future,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use futures_util::{
    StreamExt as _,
    future::{BoxFuture, FutureExt as _},
    stream::FuturesUnordered,
};
use protocol::{
    CommandId, Link, Time,
    control::Resolve,
    handshake::{Settings, Timing},
    link::HostConfig,
};
use tokio::sync::mpsc::UnboundedReceiver;

use self::{absence::Absence, active::Active, line::Line, lost::Lost, news::News, survivor::Errand};
use super::{
    clock::Clock,
    connector::{Connection, Connector, JoinFailure, SandboxState},
    failure::Failure,
    op::Op,
    pool::Pool,
    request::Request,
    secrets::Secrets,
    settings::SessionSettings,
};

/// Why a session is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Over {
    /// Its sandbox does not exist any more (C24).
    Gone,
    /// Everything was ended and removed, as asked.
    Ended,
    /// It failed for good.
    Failed(Failure),
}

/// What a driver is made of.
pub struct Parts {
    /// Id of the sandbox.
    pub sandbox: String,
    /// How it behaves.
    pub settings: SessionSettings,
    /// What proves that the supervisor is ours.
    pub secrets: Secrets,
    /// The way to the supervisor.
    pub connector: Arc<dyn Connector>,
    /// What JavaScript asks.
    pub ops: UnboundedReceiver<Op>,
    /// Where prepared processes go.
    pub pool: Arc<Pool>,
    /// Where the end is noted.
    pub over: Arc<Mutex<Option<Over>>>,
}

/// See the module.
pub struct Driver {
    parts: Parts,
    clock: Clock,
    link: Link,
    line: Line,
    absence: Option<Absence>,
    checking: Option<BoxFuture<'static, SandboxState>>,
    errands: FuturesUnordered<BoxFuture<'static, Errand>>,
    commands: HashMap<CommandId, Active>,
    lost: Lost,
    /// When the outcome of a command waits no longer for its streams.
    deadlines: BTreeSet<(Time, CommandId)>,
    lookups: HashMap<CommandId, (Arc<Request>, Resolve)>,
    /// Questions about terminals, by command and number.
    questions: HashMap<(CommandId, u32), Arc<Request>>,
    last_question: u32,
    found: adopt::Found,
    shutdown: Vec<Arc<Request>>,
    /// Each message goes up in a request of its own.
    unary: bool,
    /// How often only that way was answered.
    unary_attached: u8,
    /// The other way was answered once: it is there.
    streamed: bool,
    /// The supervisor is about to go: what the session ends with, and until when that is waited for.
    leave: Option<(Over, Time)>,
    end: Option<Over>,
    news: News,
}

/// What a driver waits for.
enum Happening {
    Op(Option<Op>),
    Joined(Result<Connection, JoinFailure>),
    Heard(Result<Bytes, String>),
    Sent(Result<(), String>),
    StreamingOver(String),
    State(SandboxState),
    Errand(Errand),
    Time,
}

impl Driver {
    /// A driver that begins to connect as soon as it runs.
    pub fn new(parts: Parts) -> Self {
        let clock = Clock::start();
        let link = Link::host(host(&parts, false), clock.now());
        Self {
            parts,
            clock,
            link,
            line: Line::Idle { retry_at: Some(Time::default()) },
            absence: Some(Absence::new(Time::default())),
            checking: None,
            errands: FuturesUnordered::new(),
            commands: HashMap::new(),
            lost: Lost::default(),
            deadlines: BTreeSet::new(),
            lookups: HashMap::new(),
            questions: HashMap::new(),
            last_question: 0,
            found: adopt::Found::default(),
            shutdown: Vec::new(),
            unary: false,
            unary_attached: 0,
            streamed: false,
            leave: None,
            end: None,
            news: News::default(),
        }
    }

    /// Runs until the session is over, or nobody is left who could want something of it.
    pub async fn run(mut self) {
        tracing::debug!(sandbox = self.parts.sandbox, "session begins");
        while self.end.is_none() {
            self.tick();
            self.transmit();
            if self.end.is_some() {
                break;
            }
            let happening = match self.at_once().await {
                Some(happening) => happening,
                None => self.happening(self.news.due_at()).await,
            };
            match happening {
                Happening::Op(None) => break,
                Happening::Op(Some(op)) => {
                    self.on_op(op);
                    // What came in one burst goes in one message.
                    while let Ok(op) = self.parts.ops.try_recv() {
                        self.on_op(op);
                    }
                }
                Happening::Joined(outcome) => self.on_joined(outcome),
                Happening::Heard(heard) => self.on_heard(heard),
                Happening::Sent(sent) => self.on_sent(sent),
                Happening::StreamingOver(reason) => self.way_up_lost(reason),
                Happening::State(state) => self.on_state(state),
                Happening::Errand(errand) => self.on_errand(errand),
                Happening::Time => {}
            }
        }
        if self.end == Some(Over::Ended) {
            self.parts.connector.farewell().await;
        }
        self.close();
    }

    /// While readers are to be woken: what happens without any waiting, so that they find more when they come. Then they are woken, now
    /// or a little later.
    async fn at_once(&mut self) -> Option<Happening> {
        let due = self.news.due_at()?;
        for _ in 0..2 {
            if self.news.is_due(self.clock.now()) {
                break;
            }
            let happening = self.happening(None).now_or_never();
            if happening.is_some() {
                return happening;
            }
            // The connection's own task may have more.
            tokio::task::yield_now().await;
        }
        let now = self.clock.now();
        if due <= now || self.news.is_due(now) {
            self.news.tell(now);
        }
        None
    }

    /// The next thing that happens, at this time at the latest.
    async fn happening(&mut self, at_latest: Option<Time>) -> Happening {
        let deadline = self.next_time().into_iter().chain(at_latest).min().map(|time| self.clock.instant(time));
        let Self { parts, line, checking, errands, .. } = self;
        let time = async {
            match deadline {
                Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            op = parts.ops.recv() => Happening::Op(op),
            happening = line.happening() => happening,
            state = maybe(checking.as_mut()) => Happening::State(state),
            Some(errand) = errands.next() => Happening::Errand(errand),
            () = time => Happening::Time,
        }
    }

    fn next_time(&self) -> Option<Time> {
        let absence = self.absence.as_ref().map(|absence| absence.next_tick(self.parts.settings.lost_after));
        let leave = self.leave.as_ref().map(|(_, until)| *until);
        let deadline = self.deadlines.first().filter(|_| self.link.is_attached()).map(|(time, _)| *time);
        [leave, self.link.poll_timeout(), self.line.next_time(), absence, deadline].into_iter().flatten().min()
    }

    /// What is due by the time alone.
    fn tick(&mut self) {
        let now = self.clock.now();
        if self.link.poll_timeout().is_some_and(|due| due <= now) {
            self.link.handle_timeout(now);
            self.on_events();
        }
        self.tick_line(now);
        self.tick_absence(now);
        self.leave(Some(now));
        // A line that is cut holds nothing up for good: nobody's patience ends meanwhile (C22).
        while let Some((due, command)) = self.deadlines.first().copied()
            && due <= now
            && self.link.is_attached()
        {
            self.deadlines.remove(&(due, command));
            self.settle_if_over(command);
        }
    }

    /// Notes that the session is over; the loop ends with that.
    fn finish(&mut self, over: Over) {
        if self.end.is_none() {
            tracing::debug!(sandbox = self.parts.sandbox, ?over, "session ends");
            self.end = Some(over);
        }
    }

    fn note_over(&self, over: &Over) {
        self.parts.over.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| over.clone());
    }
}

/// How the link is timed where each message is a request, or is not.
fn timing(parts: &Parts, unary: bool) -> Timing {
    let timing = parts.settings.supervisor.timing;
    if unary { Timing::unary(timing.silence_ms) } else { timing }
}

fn host(parts: &Parts, unary: bool) -> HostConfig {
    HostConfig {
        token: parts.secrets.token(),
        sandbox: parts.sandbox.clone(),
        settings: Settings { timing: timing(parts, unary), ..parts.settings.supervisor.clone() },
        keys: parts.secrets.keys(),
        fresh: !parts.settings.resumes,
    }
}

/// Never, when there is nothing to wait for.
async fn maybe<F: Future + Unpin>(future: Option<&mut F>) -> F::Output {
    match future {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}

/// The longest time that one look at the clock counts: a machine that slept has not waited.
const TICK: Duration = Duration::from_secs(5);
