//! Ending a session: SIGTERM, the grace, SIGKILL to whoever is left (C30, C32).

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use process::terminate::Denied;
use protocol::control::Survivor;
use tokio::time;

use super::{passes, tree::Tree};
use crate::session::{command::Tree as Known, failure::Failure};

/// After a SIGKILL, how soon somebody new is looked for, and how rarely at last.
const SOON: Duration = Duration::from_millis(20);
const SELDOM: Duration = Duration::from_millis(500);

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

    /// Begins, unless that has happened and not failed. Returns at once; the first signal is sent before that.
    pub fn begin(self: &Arc<Self>) {
        if self.tree.is_gone() || self.climbing.swap(true, Ordering::AcqRel) {
            return;
        }
        let this = Arc::clone(self);
        let asked = self.tree.leader.signal_group(&[libc::SIGTERM, libc::SIGCONT]);
        tokio::spawn(async move {
            if let Some(group) = asked {
                let _ = passes::ask(this.tree.leader.pid(), group).await;
                if time::timeout(this.grace, this.tree.gone()).await.is_err() {
                    this.kill().await;
                }
            }
            this.climbing.store(false, Ordering::Release);
        });
    }

    /// Kills until nobody is left, or only who is not ours to kill.
    async fn kill(&self) {
        let leader = &self.tree.leader;
        let mut pause = SOON;
        while let Some(group) = leader.signal_group(&[libc::SIGKILL]) {
            match passes::kill(leader.pid(), group).await {
                Ok(met) if !met.denied.is_empty() && met.denied.len() >= met.living => {
                    let survivors = met.denied.iter().map(survivor).collect();
                    return self.tree.command.set_tree(Known::Stuck(Failure::Survived(survivors)));
                }
                _ => {}
            }
            if time::timeout(pause, self.tree.gone()).await.is_ok() {
                return;
            }
            pause = (pause * 2).min(SELDOM);
        }
    }
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
