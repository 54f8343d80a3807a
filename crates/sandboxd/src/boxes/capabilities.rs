//! Takes from the root of a box what would reach the host.

use rustix::thread::{CapabilitySet, CapabilitySets, remove_capability_from_bounding_set, set_capabilities};

/// What root keeps inside: enough to own files, change users, signal, trace and serve on low ports. Not among them:
/// mounting, device nodes, modules, raw sockets, the clock, file handles (which reach past the box' root).
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETPCAP)
    .union(CapabilitySet::SETFCAP)
    .union(CapabilitySet::NET_BIND_SERVICE)
    .union(CapabilitySet::SYS_CHROOT)
    .union(CapabilitySet::SYS_PTRACE)
    .union(CapabilitySet::SYS_NICE)
    .union(CapabilitySet::AUDIT_WRITE);

/// Limits this process and all that it will start to the kept capabilities.
///
/// The caller's own sets shrink too: root inside may trace pid 1, and would otherwise find them there.
///
/// # Errors
/// When the kernel refuses, which it does without `CAP_SETPCAP`.
pub fn limit() -> rustix::io::Result<()> {
    for bit in 0..64 {
        let one = CapabilitySet::from_bits_retain(1 << bit);
        if KEPT.contains(one) {
            continue;
        }
        match remove_capability_from_bounding_set(one) {
            Ok(()) => {}
            // Past the last capability that this kernel knows.
            Err(rustix::io::Errno::INVAL) => break,
            Err(error) => return Err(error),
        }
    }
    let now = rustix::thread::capabilities(None)?;
    let kept = KEPT & now.permitted;
    set_capabilities(None, CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() })
}
