//! What is known of a command's session after its leader, and whether somebody ends it.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use process::{
    Pid, number,
    session::{Member, Seen},
    table,
};
use tokio::{
    io::Interest,
    sync::{Notify, watch as value},
    time,
};

use super::{
    guard,
    leader::Leader,
    living::{Living, Session},
    passes,
    terminal::Far,
    watched::watch,
};
use crate::session::{
    command::{Command, Tree as Known},
    failure::Failure,
};

/// How soon a session is looked at again of which no member is held, and how rarely at last.
const SOON: Duration = Duration::from_millis(15);
const SELDOM: Duration = Duration::from_millis(500);

/// One session.
#[derive(Debug)]
pub struct Tree {
    /// Whose it is. Who takes the command's wishes has this, as long as there is a command: it must not be kept from here.
    command: Weak<Command>,
    session: Arc<Session>,
    /// Told when the input is closed, if there is one.
    writing: Option<Arc<Notify>>,
    living: Arc<Living>,
    gone: value::Sender<bool>,
}

impl Tree {
    /// A session that has just begun.
    pub fn new(
        command: &Arc<Command>,
        leader: Leader,
        terminal: Option<Arc<Far>>,
        writing: Option<Arc<Notify>>,
        living: Arc<Living>,
    ) -> Self {
        let session = Arc::new(Session { leader, terminal });
        guard::begin(session.leader.pid());
        living.add(&session);
        Self { command: Arc::downgrade(command), session, writing, living, gone: value::Sender::new(false) }
    }

    /// Whom signals go to.
    pub fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// The session's leader.
    pub fn leader(&self) -> &Leader {
        &self.session.leader
    }

    /// Whether nobody of it lives any more.
    pub fn is_gone(&self) -> bool {
        *self.gone.borrow()
    }

    /// Waits until nobody of it lives any more.
    pub async fn gone(&self) {
        // Fails only without a sender, and that is here.
        let _ = self.gone.subscribe().wait_for(|gone| *gone).await;
    }

    /// Follows it from the leader's end to its own (C31).
    pub async fn watch(&self) {
        let session = self.leader().pid();
        let mut pause = SOON;
        while number::is_taken(session) {
            match passes::look(session).await {
                Ok(Seen::Living(mut members)) => {
                    if let Some(member) = members.pop() {
                        outlive(session, member).await;
                    }
                    pause = SOON;
                }
                Ok(Seen::Nobody) => break,
                // Whoever has the number may not be visible to us: then it is waited for until it is free.
                Ok(Seen::Unsure) | Err(_) => {
                    time::sleep(pause).await;
                    pause = (pause * 2).min(SELDOM);
                }
            }
        }
        if let Some(terminal) = &self.session.terminal {
            let mut pause = SOON;
            while terminal.kin.living() > 0 {
                time::sleep(pause).await;
                pause = (pause * 2).min(SELDOM);
            }
        }
        self.end();
    }

    /// Nobody of it lives any more: from now on nothing is signalled.
    fn end(&self) {
        self.leader().set_gone();
        self.living.remove(&self.session);
        guard::end(self.leader().pid());
        self.gone.send_replace(true);
        let command = self.command.upgrade();
        if let Some(command) = &command {
            command.close_input();
        }
        if let Some(writing) = &self.writing {
            writing.notify_one();
        }
        if let Some(command) = command {
            command.set_tree(Known::Gone);
        }
    }

    /// Who is left of it can't be ended.
    pub fn stuck(&self, failure: Failure) {
        if let Some(command) = self.command.upgrade() {
            command.set_tree(Known::Stuck(failure));
        }
    }
}

/// Waits until one member has ended or left, or nobody has the session's number any more.
async fn outlive(session: Pid, member: Member) {
    let Some(pid) = Pid::from_raw(member.stat.pid) else { return };
    let Ok(ended) = watch(member.pidfd.into_owned(), Interest::READABLE) else { return time::sleep(SOON).await };
    let mut pause = SOON;
    loop {
        if time::timeout(pause, ended.readable()).await.is_ok() || !number::is_taken(session) {
            return;
        }
        // A daemon to be leaves its session without an event.
        let stays = table::stat(pid).is_ok_and(|stat| stat.session == session.as_raw_pid());
        if !stays {
            return;
        }
        pause = (pause * 2).min(SELDOM);
    }
}
