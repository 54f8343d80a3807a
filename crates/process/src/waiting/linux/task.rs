//! What a thread sleeps for, as `/proc` tells it.

use std::io::IoSliceMut;
use std::os::linux::fs::MetadataExt;

use crate::table::linux as procfs;

/// Device number of `/dev/tty`: major 5, minor 0.
const DEV_TTY: u64 = 5 << 8;
/// Epoll descriptors in epoll descriptors: as deep as the kernel allows.
const EPOLL_DEPTH: usize = 5;
/// More descriptors than this in one poll are not looked at.
const MOST_POLLED: usize = 4096;
/// `POLLIN | POLLRDNORM`, the same bits for epoll.
const READABLE: u32 = 0x41;
/// How the kernel calls the protocols of unix sockets: `UNIX`, `UNIX-STREAM`, each with a zero behind it.
const UNIX: &[u8] = b"UNIX";

/// The calls of this architecture that can wait for input.
enum Call {
    Read,
    Poll,
    Select,
    Epoll,
}

impl Call {
    fn from_number(number: i64) -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        match number {
            libc::SYS_poll => return Some(Self::Poll),
            libc::SYS_select => return Some(Self::Select),
            libc::SYS_epoll_wait => return Some(Self::Epoll),
            _ => {}
        }
        match number {
            libc::SYS_read | libc::SYS_readv | libc::SYS_recvfrom | libc::SYS_recvmsg => Some(Self::Read),
            libc::SYS_ppoll => Some(Self::Poll),
            libc::SYS_pselect6 => Some(Self::Select),
            libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 => Some(Self::Epoll),
            _ => None,
        }
    }
}

/// Whether a thread of process `pid` sleeps until there is something to read on a descriptor for which `wanted` holds.
pub fn any_sleeps_on(pid: i32, wanted: impl Fn(&Task, u64) -> bool) -> bool {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return false };
    tasks.flatten().any(|task| Task { pid, path: task.path().to_string_lossy().into_owned() }.sleeps_on(&wanted))
}

/// A thread.
pub struct Task {
    pid: i32,
    /// `/proc/PID/task/TID`.
    path: String,
}

impl Task {
    fn sleeps_on(&self, wanted: &impl Fn(&Self, u64) -> bool) -> bool {
        let sleeps = || procfs::read_stat(format!("{}/stat", self.path).as_ref()).is_ok_and(|stat| stat.state == b'S');
        if !sleeps() {
            return false;
        }
        // "running", "-1 …" outside a call, or the number and six arguments in hexadecimal.
        let Ok(text) = std::fs::read_to_string(format!("{}/syscall", self.path)) else { return false };
        let mut words = text.split_ascii_whitespace();
        let Some(call) = words.next().and_then(|number| Call::from_number(number.parse().ok()?)) else { return false };
        let mut arguments = [0u64; 3];
        for argument in &mut arguments {
            let word = words.next().and_then(|word| word.strip_prefix("0x"));
            let Some(value) = word.and_then(|digits| u64::from_str_radix(digits, 16).ok()) else { return false };
            *argument = value;
        }
        let [first, second, _] = arguments;
        match call {
            Call::Read => wanted(self, first),
            Call::Poll => self.polls(first, second, wanted),
            Call::Select => self.selects(first, second, wanted),
            Call::Epoll => self.epoll_waits(first, EPOLL_DEPTH, wanted),
        }
    }

    /// Whether descriptor `number` is terminal `device`.
    pub fn is_terminal(&self, number: u64, device: u64) -> bool {
        let Ok(metadata) = std::fs::metadata(format!("{}/fd/{number}", self.path)) else { return false };
        metadata.st_rdev() == device || (metadata.st_rdev() == DEV_TTY && self.is_controlled_by(device))
    }

    /// Whether descriptor `number` is a unix socket.
    pub fn is_unix_socket(&self, number: u64) -> bool {
        let mut name = [0; 32];
        let length = rustix::fs::getxattr(format!("{}/fd/{number}", self.path), "system.sockprotoname", &mut name);
        length.is_ok() && name.starts_with(UNIX)
    }

    fn is_controlled_by(&self, device: u64) -> bool {
        procfs::read_stat(format!("{}/stat", self.path).as_ref()).is_ok_and(|stat| stat.controlling() == device)
    }

    fn polls(&self, address: u64, count: u64, wanted: &impl Fn(&Self, u64) -> bool) -> bool {
        let count = usize::try_from(count).unwrap_or(usize::MAX).min(MOST_POLLED);
        let entries = self.read_memory(address, count * 8);
        let (entries, _) = entries.as_chunks::<8>();
        entries.iter().any(|&[a, b, c, d, e, f, _, _]| {
            let descriptor = i32::from_ne_bytes([a, b, c, d]);
            let events = u32::from(u16::from_ne_bytes([e, f]));
            descriptor >= 0 && events & READABLE != 0 && wanted(self, u64::from(descriptor.cast_unsigned()))
        })
    }

    fn selects(&self, count: u64, readable: u64, wanted: &impl Fn(&Self, u64) -> bool) -> bool {
        let count = usize::try_from(count).unwrap_or(usize::MAX).min(MOST_POLLED);
        let set = self.read_memory(readable, count.div_ceil(8));
        let is_set = |number: &usize| set.get(number / 8).is_some_and(|byte| byte >> (number % 8) & 1 == 1);
        (0..count).filter(is_set).any(|number| wanted(self, number as u64))
    }

    fn epoll_waits(&self, epoll: u64, depth: usize, wanted: &impl Fn(&Self, u64) -> bool) -> bool {
        let Ok(info) = std::fs::read_to_string(format!("{}/fdinfo/{epoll}", self.path)) else { return false };
        info.lines().filter_map(parse_watched).any(|(number, events)| {
            if events & READABLE == 0 {
                return false;
            }
            wanted(self, number) || (depth > 0 && self.is_epoll(number) && self.epoll_waits(number, depth - 1, wanted))
        })
    }

    fn is_epoll(&self, number: u64) -> bool {
        let target = std::fs::read_link(format!("{}/fd/{number}", self.path));
        target.is_ok_and(|target| target.as_os_str() == "anon_inode:[eventpoll]")
    }

    /// Memory of the process; shorter, or empty, where it cannot be read.
    fn read_memory(&self, address: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        let Some(address) = usize::try_from(address).ok().filter(|&address| address != 0 && length != 0) else {
            return Vec::new();
        };
        let remote = libc::iovec { iov_base: std::ptr::without_provenance_mut(address), iov_len: length };
        let local = IoSliceMut::new(&mut bytes);
        // SAFETY: IoSliceMut has the layout of iovec and covers `bytes`; the remote side is checked by the kernel.
        let read = unsafe { libc::process_vm_readv(self.pid, (&raw const local).cast(), 1, &raw const remote, 1, 0) };
        bytes.truncate(usize::try_from(read).unwrap_or(0));
        bytes
    }
}

/// Descriptor and events of a line `tfd: 5 events: 19 data: …` of an epoll descriptor's information.
fn parse_watched(line: &str) -> Option<(u64, u32)> {
    let mut words = line.strip_prefix("tfd:")?.split_ascii_whitespace();
    let number = words.next()?.parse().ok()?;
    let events = words.nth(1)?;
    Some((number, u32::from_str_radix(events, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watched_descriptor_is_parsed() {
        let line = "tfd:        0 events:       19 data:                0  pos:0 ino:3 sdev:18";
        assert_eq!(parse_watched(line), Some((0, 0x19)));
        assert_eq!(parse_watched("pos:\t0"), None);
    }
}
