//! Ending a session: SIGTERM, the grace, SIGKILL to whoever is left (C30, C32).

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use process::{
    Pid, table,
    terminate::{Denied, LeadersGroup},
};
use protocol::control::Survivor;
use tokio::time::{self, Instant};

use super::{passes, side::aside, tree::Tree};
use crate::session::failure::Failure;

/// After a SIGKILL, how soon somebody new is looked for, and how rarely at last.
const SOON: Duration = Duration::from_millis(20);
const SELDOM: Duration = Duration::from_millis(500);
/// Members that are still there this long after SIGKILL are reported: stuck in the kernel, or not visible to us.
const STUCK: Duration = Duration::from_secs(10);

/// The first rung; SIGCONT so that stopped members can act on it.
const ASK: &[i32] = &[libc::SIGTERM, libc::SIGCONT];

/// The ladder of one session. At most one is being climbed.
#[derive(Debug)]
pub struct Ladder {
    tree: Arc<Tree>,
    grace: Duration,
    climbing: AtomicBool,
}

impl Ladder {
    /// Not begun.
    pub fn new(tree: Arc<Tree>, grace: Duration) -> Arc<Self> {
        Arc::new(Self { tree, grace, climbing: AtomicBool::new(false) })
    }

    /// Begins, unless that has happened and not failed. Returns at once; a session without a terminal has its first signal then.
    pub fn begin(self: &Arc<Self>) {
        if self.tree.is_gone() || self.climbing.swap(true, Ordering::AcqRel) {
            return;
        }
        let this = Arc::clone(self);
        let asked = self.tree.session().terminal.is_none().then(|| self.tree.leader().signal_group(ASK));
        tokio::spawn(async move {
            this.climb(asked).await;
            this.climbing.store(false, Ordering::Release);
        });
    }

    async fn climb(&self, asked: Option<Option<LeadersGroup>>) {
        let group = match asked {
            Some(group) => group,
            None => self.ask_terminal().await,
        };
        let Some(group) = group else { return };
        // Who can't be reached is seen at the next rung.
        let _ = passes::ask(self.tree.leader().pid(), group).await;
        if time::timeout(self.grace, self.tree.gone()).await.is_err() {
            self.kill().await;
        }
    }

    /// Descendants that left the session are looked for before their parents end.
    async fn ask_terminal(&self) -> Option<LeadersGroup> {
        self.look().await;
        if let Some(terminal) = &self.tree.session().terminal {
            terminal.kin.signal(ASK);
        }
        self.tree.leader().signal_group(ASK)
    }

    async fn look(&self) {
        if self.tree.session().terminal.is_some() {
            let session = Arc::clone(self.tree.session());
            aside(move || session.look()).await;
        }
    }

    /// Kills until nobody is left, or only who is not ours to kill.
    async fn kill(&self) {
        let leader = self.tree.leader();
        let mut pause = SOON;
        let stuck_at = Instant::now() + STUCK;
        loop {
            self.look().await;
            let Some(group) = leader.signal_group(&[libc::SIGKILL]) else { return };
            let mut met = passes::kill(leader.pid(), group).await.unwrap_or_default();
            if let Some(terminal) = &self.tree.session().terminal {
                met.denied.extend(terminal.kin.signal(&[libc::SIGKILL]));
                met.living += terminal.kin.living();
            }
            if !met.denied.is_empty() && met.denied.len() >= met.living {
                let survivors = met.denied.iter().map(survivor).collect();
                return self.tree.stuck(Failure::Survived(survivors));
            }
            if Instant::now() >= stuck_at {
                return self.tree.stuck(stuck(leader.pid()).await);
            }
            if time::timeout(pause, self.tree.gone()).await.is_ok() {
                return;
            }
            pause = (pause * 2).min(SELDOM);
        }
    }
}

/// Who does not end of SIGKILL.
async fn stuck(session: Pid) -> Failure {
    let members = match passes::look(session).await {
        Ok(seen) => seen.into_members(),
        Err(_) => Vec::new(),
    };
    if members.is_empty() {
        return Failure::Unseen(session.as_raw_pid().cast_unsigned());
    }
    let survivors = members.iter().map(|member| Survivor {
        command: 0,
        pid: member.stat.pid.cast_unsigned(),
        uid: Pid::from_raw(member.stat.pid).and_then(|pid| table::user(pid).ok()).unwrap_or(u32::MAX),
        start_time: member.stat.start_time,
        errno: libc::ETIMEDOUT,
    });
    Failure::Survived(survivors.collect())
}

fn survivor(denied: &Denied) -> Survivor {
    Survivor {
        command: 0,
        pid: denied.pid.cast_unsigned(),
        uid: denied.uid,
        start_time: denied.start_time,
        errno: libc::EPERM,
    }
}
