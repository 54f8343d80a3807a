//! Does a terminal's foreground group wait for input (C52)?

use rustix::process::Pid;

use crate::pty::Device;

#[cfg(target_os = "linux")]
mod linux;

/// Whether a thread of group `group` in the session of `leader` sleeps until there is input on terminal `device`, or another
/// process does so for it. Whatever cannot be proven is "no"; on macOS that is always so, since its kernel tells nobody in which
/// call a process sleeps.
///
/// Costs a pass over all processes, and a second one only while the group sleeps on a unix socket.
pub fn input_waiting(leader: Pid, group: Pid, device: Device) -> bool {
    #[cfg(target_os = "linux")]
    return linux::input_waiting(leader, group, device);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (leader, group, device);
        false
    }
}
