//! Children of this process: those it started and, as a subreaper, those whose parents died.

use std::collections::HashSet;
use std::io;
use std::sync::OnceLock;

use rustix::process::Pid;

use crate::exit;
use crate::table;

/// Makes orphaned descendants children of this process instead of init's.
pub fn become_subreaper() -> io::Result<()> {
    Ok(rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?)
}

/// All children of this process, zombies included.
pub fn children() -> io::Result<Vec<Pid>> {
    let mut found = Vec::new();
    for task in std::fs::read_dir("/proc/self/task")? {
        match std::fs::read_to_string(task?.path().join("children")) {
            Ok(list) => found.extend(list.split_ascii_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?))),
            // A kernel built without that file; a thread that has just ended is found again by the scan as well.
            Err(_) => return children_by_scan(),
        }
    }
    Ok(found)
}

fn children_by_scan() -> io::Result<Vec<Pid>> {
    let own = rustix::process::getpid().as_raw_pid();
    let processes = table::snapshot()?.processes;
    let ours = processes.into_iter().filter(|stat| stat.parent == own);
    Ok(ours.filter_map(|stat| Pid::from_raw(stat.pid)).collect())
}

/// Children of this process' main thread. Orphans come to it, whichever thread started those whose descendants they are; so where other
/// threads do all the forking, these are only orphans. Where that can't be told apart: all children.
fn children_of_main_thread() -> io::Result<Vec<Pid>> {
    if !orphans_come_to_the_main_thread() {
        return children();
    }
    match std::fs::read_to_string(format!("/proc/self/task/{}/children", std::process::id())) {
        Ok(list) => Ok(list.split_ascii_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)).collect()),
        Err(_) => children_by_scan(),
    }
}

/// Before Linux 4.0 they came to the thread that had started their ancestor.
fn orphans_come_to_the_main_thread() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| {
        let system = rustix::system::uname();
        let release = system.release().to_string_lossy();
        release.split('.').next().and_then(|major| major.parse().ok()).is_some_and(|major: u32| major >= 4)
    })
}

/// [`reap_except`] for a process in which another thread than the main one does all the forking: whoever runs for long is not looked
/// at one by one. `children` gives those that are no orphans; it is only asked when there may be any.
pub fn reap_orphans(children: impl FnOnce() -> HashSet<Pid>) -> io::Result<Vec<Pid>> {
    let first = children_of_main_thread()?;
    if first.is_empty() {
        return Ok(first);
    }
    let mut first = Some(first);
    reap_until_quiet(&children(), || first.take().map_or_else(children_of_main_thread, Ok))
}

/// Reaps, by pid, every ended child that is not among `kept`, and gives the others that are not among them: orphans that
/// still run. Never waits for "any child", which could take a kept one.
///
/// Whoever is reaped may have left children that became ours only after the list was read, so it is read again until
/// nobody was: an empty answer is proof.
pub fn reap_except(kept: &HashSet<Pid>) -> io::Result<Vec<Pid>> {
    reap_until_quiet(kept, children)
}

fn reap_until_quiet(kept: &HashSet<Pid>, mut list: impl FnMut() -> io::Result<Vec<Pid>>) -> io::Result<Vec<Pid>> {
    loop {
        let unknown: Vec<Pid> = list()?.into_iter().filter(|pid| !kept.contains(pid)).collect();
        let before = unknown.len();
        let running: Vec<Pid> = unknown.into_iter().filter(|&pid| matches!(exit::reap(pid), Ok(None))).collect();
        if running.len() == before {
            return Ok(running);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Fixture, in_own_pid_namespace};

    #[test]
    fn orphans_come_to_the_subreaper_and_are_reaped_by_pid_while_a_kept_leader_stays() {
        if !in_own_pid_namespace(
            "orphans::tests::orphans_come_to_the_subreaper_and_are_reaped_by_pid_while_a_kept_leader_stays",
        ) {
            return;
        }
        become_subreaper().unwrap();
        let leader = Fixture::shell("for i in 1 2 3 4 5; do sleep 0.05 & done; sleep 60 & exit 3");
        leader.wait_until_ended();
        let kept = HashSet::from([leader.pid]);
        let mut running = Vec::new();
        leader.wait_for("one orphan left", || {
            running = reap_except(&kept).unwrap();
            running.len() == 1
        });
        assert_eq!(exit::observe(leader.pid).unwrap(), Some(exit::Exit::Code(3)));
        let mut all = children().unwrap();
        all.sort_unstable_by_key(|pid| pid.as_raw_pid());
        assert_eq!(all, [leader.pid, running[0]]);
        rustix::process::kill_process(running[0], rustix::process::Signal::KILL).unwrap();
    }

    #[test]
    fn c31_a_child_that_an_orphan_left_just_after_the_list_was_read_is_not_missed() {
        const TEST: &str = "orphans::tests::c31_a_child_that_an_orphan_left_just_after_the_list_was_read_is_not_missed";
        if !in_own_pid_namespace(TEST) {
            return;
        }
        become_subreaper().unwrap();
        let parent = Fixture::shell("sleep 60 & wait");
        parent.wait_for("its child", || table::snapshot().unwrap().processes.iter().any(|s| s.name == b"sleep"));
        let mut stale = Some(children().unwrap());
        assert_eq!(stale.as_deref(), Some(&[parent.pid][..]));
        rustix::process::kill_process(parent.pid, rustix::process::Signal::KILL).unwrap();
        parent.wait_until_ended();
        let running = reap_until_quiet(&HashSet::new(), || stale.take().map_or_else(children, Ok)).unwrap();
        assert_eq!(running.len(), 1);
        rustix::process::kill_process(running[0], rustix::process::Signal::KILL).unwrap();
    }

    #[test]
    fn the_scan_finds_the_same_children_as_the_list() {
        let child = Fixture::shell("sleep 60");
        assert!(children().unwrap().contains(&child.pid));
        assert!(children_by_scan().unwrap().contains(&child.pid));
        child.kill();
    }
}
