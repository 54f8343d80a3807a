//! Passes over `/proc`: one serves everybody who waits, off every thread that has something else to do, and none begins sooner
//! than 15 ms after the one before. Who gets no thread for that makes a pass of its own, at once.

use std::{
    collections::HashMap,
    io,
    sync::mpsc::Receiver,
    thread,
    time::{Duration, Instant},
};

use process::{
    Pid,
    session::{Search, Seen},
    table::{self, Snapshot},
    terminate::{self, Denied, LeadersGroup},
};
use tokio::sync::oneshot;

use super::side::Side;

const APART: Duration = Duration::from_millis(15);
/// How many passes are made for one answer.
const REPEATS: usize = 4;

/// What a signal met.
#[derive(Debug, Default)]
pub struct Met {
    /// Members that were alive, reached or not.
    pub living: usize,
    /// Members that are not ours to signal.
    pub denied: Vec<Denied>,
}

enum Job {
    Look(Pid, oneshot::Sender<io::Result<Seen>>),
    Ask(Pid, LeadersGroup, oneshot::Sender<io::Result<Met>>),
    Kill(Pid, LeadersGroup, oneshot::Sender<io::Result<Met>>),
}

/// Whether anybody lives in a session whose leader was reaped.
///
/// # Errors
/// When `/proc` can't be read, or shows another pid namespace.
pub async fn look(session: Pid) -> io::Result<Seen> {
    done(|answer| Job::Look(session, answer)).await
}

/// SIGTERM and SIGCONT to the members of a session that its leader's group does not have.
///
/// # Errors
/// As for [`look`].
pub async fn ask(session: Pid, group: LeadersGroup) -> io::Result<Met> {
    done(|answer| Job::Ask(session, group, answer)).await
}

/// SIGKILL to every member of a session.
///
/// # Errors
/// As for [`look`].
pub async fn kill(session: Pid, group: LeadersGroup) -> io::Result<Met> {
    done(|answer| Job::Kill(session, group, answer)).await
}

async fn done<T>(job: impl FnOnce(oneshot::Sender<io::Result<T>>) -> Job) -> io::Result<T> {
    static JOBS: Side<Job> = Side::new("dsh-passes", serve);
    let (answer, heard) = oneshot::channel();
    if let Err(job) = JOBS.give(job(answer)) {
        run(vec![job]);
    }
    heard.await.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?
}

fn serve(jobs: &Receiver<Job>) {
    while let Ok(first) = jobs.recv() {
        let begun = Instant::now();
        run(std::iter::once(first).chain(jobs.try_iter()).collect());
        thread::sleep(APART.saturating_sub(begun.elapsed()));
    }
}

fn run(jobs: Vec<Job>) {
    let (mut looks, mut asks, mut kills) = (Vec::new(), Vec::new(), Vec::new());
    for job in jobs {
        match job {
            Job::Look(session, answer) => looks.push((session, answer)),
            Job::Ask(session, group, answer) => asks.push((session, group, answer)),
            Job::Kill(session, group, answer) => kills.push((session, group, answer)),
        }
    }
    signal(kills, terminate::kill_sessions);
    signal(asks, terminate::ask_sessions);
    look_for(looks);
}

type Signal = fn(&[(Pid, LeadersGroup)]) -> io::Result<HashMap<Pid, terminate::Outcome>>;

fn signal(wanted: Vec<(Pid, LeadersGroup, oneshot::Sender<io::Result<Met>>)>, signal: Signal) {
    if wanted.is_empty() {
        return;
    }
    let sessions: Vec<_> = wanted.iter().map(|&(session, group, _)| (session, group)).collect();
    let mut result = signal(&sessions);
    for (session, _, answer) in wanted {
        let met = result.as_mut().map_err(again).map(|outcomes| {
            let outcome = outcomes.remove(&session).unwrap_or_default();
            Met { living: outcome.living, denied: outcome.denied }
        });
        let _ = answer.send(met);
    }
}

fn look_for(wanted: Vec<(Pid, oneshot::Sender<io::Result<Seen>>)>) {
    if wanted.is_empty() {
        return;
    }
    let mut search = Search::default();
    let mut snapshot = table::snapshot();
    for (session, answer) in wanted {
        let mut seen = look_in(&mut search, &snapshot, session);
        for _ in 1..REPEATS {
            if !matches!(seen, Ok(Seen::Unsure)) {
                break;
            }
            snapshot = table::snapshot();
            seen = look_in(&mut search, &snapshot, session);
        }
        let _ = answer.send(seen);
    }
}

fn look_in(search: &mut Search, snapshot: &io::Result<Snapshot>, session: Pid) -> io::Result<Seen> {
    snapshot.as_ref().map_err(again).map(|snapshot| search.look_without_leader(snapshot, session))
}

/// The same error for one more listener.
fn again(error: impl std::ops::Deref<Target = io::Error>) -> io::Error {
    error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error)
}
