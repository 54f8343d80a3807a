//! Linux says for every thread in which system call it sleeps and with which arguments ([`task`]). Where that is a read,
//! poll, select or epoll wait, the descriptors it is about are looked up; a descriptor counts when it is the terminal itself,
//! `/dev/tty` of a process that the terminal controls, or an epoll descriptor that watches such ([`wanted`], [`epoll`]).
//!
//! A program may have given its terminal away over a unix socket and sleep on that: `tmux`, whose server reads the terminals of
//! its clients, or an `ssh` that shares another's connection. So where somebody in front sleeps on such a socket, whoever of the
//! same user sleeps on the terminal from outside counts for it.
//!
//! Whatever cannot be proven is "no".

mod epoll;
mod task;
mod wanted;

use rustix::process::Pid;

use crate::pty::Device;
use crate::{session, table};
use task::any_sleeps_on;
use wanted::Wanted;

pub(super) fn input_waiting(leader: Pid, group: Pid, device: Device) -> bool {
    let Ok(members) = session::members(leader) else { return false };
    let in_front: Vec<i32> = members
        .iter()
        .map(|member| &member.stat)
        .filter(|stat| stat.group == group.as_raw_pid())
        .map(|s| s.pid)
        .collect();
    if in_front.iter().any(|&pid| any_sleeps_on(pid, &Wanted::Terminal(device))) {
        return true;
    }
    let clients = in_front.iter().filter(|&&pid| any_sleeps_on(pid, &Wanted::UnixSocket));
    let users: Vec<u32> = clients.filter_map(|&pid| user(pid)).collect();
    !users.is_empty() && is_read_from_outside(device, &users)
}

/// Whether a process of one of `users` that terminal `device` does not control sleeps until there is input on it. Whoever it
/// controls without being in front is stopped as soon as there is some.
fn is_read_from_outside(device: Device, users: &[u32]) -> bool {
    let Ok(snapshot) = table::snapshot() else { return false };
    snapshot.processes.iter().filter(|stat| stat.controlling() != device.number).any(|stat| {
        any_sleeps_on(stat.pid, &Wanted::Terminal(device)) && user(stat.pid).is_some_and(|user| users.contains(&user))
    })
}

fn user(pid: i32) -> Option<u32> {
    table::user(Pid::from_raw(pid)?).ok()
}
