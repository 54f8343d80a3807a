//! The worker: one event loop, everything that the host asks for.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::path::PathBuf;
use std::time::Duration;

use process::pipe::Budget;
use process::{Pid, orphans};
use protocol::handshake::{Hello, Settings};
use protocol::link::SupervisorConfig;
use protocol::seal::Keys;
use protocol::{CommandId, Link, Time};

use crate::ambient::Ambient;
use crate::attach::Door;
use crate::clock;
use crate::command::Commands;
use crate::disk::Disk;
use crate::ending::Ending;
use crate::guardian::Inheritance;
use crate::lost::Pursuit;
use crate::orphan_timeout::OrphanTimeout;
use crate::poller::{Interest, Poller, Token};
use crate::pool::Pool;
use crate::{state, sweep};

/// The worker's state; its methods are spread over the modules that they belong to.
pub struct Worker {
    /// What is waited for.
    pub poller: Poller,
    /// The channel to the host.
    pub link: Link,
    /// Keys that hosts seal to.
    pub keys: Keys,
    /// Connections.
    pub door: Door,
    /// Commands.
    pub commands: Commands,
    /// Prepared processes.
    pub pool: Pool,
    /// The disk thread.
    pub disk: Disk,
    /// Memory for larger pipes.
    pub budget: Budget,
    /// What commands' environments start from.
    pub ambient: Ambient,
    /// How the host wants things.
    pub settings: Settings,
    /// The host's silence.
    pub silence: OrphanTimeout,
    /// The end, once it has begun.
    pub ending: Option<Ending>,
    /// What former supervisors left, while it is being ended.
    pub lost: Option<Pursuit>,
    /// Whether programs carry this life's mark, and those of former ones theirs.
    pub marked: bool,
    /// The runtime root.
    pub root: PathBuf,
    /// The signals that say that a child, or the guardian, may have ended.
    pub signals: OwnedFd,
    /// The parent.
    guardian: Pid,
    /// The time of this turn.
    pub now: Time,
    /// Commands of which the link still remembers that they were spoken about.
    pub finished: Vec<CommandId>,
    /// Most commands at once since none was there.
    pub crowd: usize,
    /// When idle large pipes are looked at again.
    pub shrink_at: Time,
    /// Somebody may have ended.
    pub look: bool,
    /// When to look again who has, since it could not be learned.
    pub look_at: Option<Time>,
    /// Something is left to do at once.
    pub again: bool,
    /// The guardian has ended: nothing is served any more.
    pub bereaved: bool,
    /// Whether a hello has decided what later ones cannot change.
    greeted: bool,
}

/// Runs the worker until the service ends. `guardian` is its parent.
pub fn run(inheritance: Inheritance, guardian: Pid) -> io::Result<()> {
    // 1. Hear of the guardian's end, since nobody else ends the programs then. It may have gone before this was said.
    //    This signal wakes even who was stopped.
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::CONT))?;
    if rustix::process::getppid() != Some(guardian) {
        return Ok(());
    }
    // 2. Become the parent of orphans.
    orphans::become_subreaper()?;
    // 3. Set up, then serve.
    let mut worker = Worker::new(inheritance, guardian)?;
    worker.serve();
    // 4. Without a guardian, do what it would have done.
    if worker.bereaved {
        let spill = state::spill_directory(&worker.root, worker.link.epoch());
        let _ = state::remove(&worker.root, &spill);
        // The host looks for the next resident as soon as this one's line has gone.
        drop(worker);
        sweep::end_all_children();
        // The disk thread may have been at it.
        state::remove_unfinished_in(&spill);
    }
    Ok(())
}

impl Worker {
    fn new(inheritance: Inheritance, guardian: Pid) -> io::Result<Self> {
        let Inheritance { listener, root, epoch, settings: for_programs } = inheritance;
        let now = clock::now();
        let poller = Poller::new()?;
        let signals = signals()?;
        poller.add(&signals, Token::Signals, Interest::Readable)?;
        let disk = Disk::new()?;
        poller.add(disk.bell(), Token::Disk, Interest::Readable)?;
        let door = Door::open(listener, &poller)?;
        let mut random = [0; 32];
        rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
        let keys = Keys::from_random(random);
        let settings = Settings::default();
        Ok(Self {
            link: Link::supervisor(SupervisorConfig { epoch, keys: keys.clone() }, now),
            pool: Pool::new(for_programs, settings.prepared.into(), &poller)?,
            silence: OrphanTimeout::new(now),
            ambient: Ambient::new(),
            budget: Budget::of_this_system(),
            commands: Commands::default(),
            ending: None,
            lost: None,
            marked: for_programs.mark.is_some(),
            finished: Vec::new(),
            crowd: 0,
            shrink_at: Time(0),
            look: false,
            look_at: None,
            again: true,
            bereaved: false,
            greeted: false,
            poller,
            keys,
            door,
            disk,
            settings,
            root,
            signals,
            guardian,
            now,
        })
    }

    /// Whether the guardian has ended.
    pub fn is_bereaved(&self) -> bool {
        rustix::process::getppid() != Some(self.guardian)
    }

    /// Takes what a hello wishes: all of the first one, of later ones how things are timed.
    pub fn adopt_settings(&mut self, hello: &Hello) {
        self.settings.orphan_busy_ms = hello.settings.orphan_busy_ms;
        self.settings.orphan_idle_ms = hello.settings.orphan_idle_ms;
        if !self.greeted {
            self.greeted = true;
            self.ambient.set_prefixes(&hello.settings.env_prefixes);
            if hello.settings.login_environment {
                self.ambient.log_in();
            }
            self.pool.set_rest(hello.settings.prepared.into());
        }
        // A host without memory knows no ids.
        let pids = if hello.received.is_none() { self.pool.announce_all() } else { self.pool.announce() };
        self.tell_prepared(pids);
    }

    /// How long the host may be silent now; zero is for ever.
    pub fn orphan_limit(&self) -> Duration {
        let busy = self.commands.iter().any(|(_, command)| !command.is_gone());
        Duration::from_millis(if busy { self.settings.orphan_busy_ms } else { self.settings.orphan_idle_ms })
    }
}

/// A descriptor that tells of ended children and of the guardian's end. All signals are blocked already.
fn signals() -> io::Result<OwnedFd> {
    // SAFETY: the set is initialised; the descriptor is new and ours.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        libc::sigaddset(&raw mut set, libc::SIGCONT);
        match libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) {
            -1 => Err(io::Error::last_os_error()),
            descriptor => Ok(OwnedFd::from_raw_fd(descriptor)),
        }
    }
}
