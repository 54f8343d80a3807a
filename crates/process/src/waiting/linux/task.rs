//! What a thread sleeps for, as `/proc` tells it.

use std::io::IoSliceMut;

use super::epoll;
use super::wanted::{File, Wanted};
use crate::table::linux as procfs;

/// Epoll descriptors in epoll descriptors: as deep as the kernel allows.
const EPOLL_DEPTH: usize = 5;
/// More descriptors than this in one poll are not looked at.
const MOST_POLLED: usize = 4096;
/// `POLLIN | POLLRDNORM`, the same bits for epoll.
const READABLE: u32 = 0x41;
/// Where in the kernel a poll sleeps, a select too; suffixes of the compiler follow.
const POLL_SLEEP: &str = "poll_schedule_timeout";

/// The calls of this architecture that can wait for input.
enum Call {
    Read,
    Poll,
    Select,
    Epoll,
    /// What a stop has interrupted goes on as this, with the arguments of what it was: a poll, a futex, a nanosleep.
    Restarted,
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
            libc::SYS_read | libc::SYS_readv | libc::SYS_preadv2 | libc::SYS_recvfrom | libc::SYS_recvmsg => {
                Some(Self::Read)
            }
            libc::SYS_restart_syscall => Some(Self::Restarted),
            libc::SYS_ppoll => Some(Self::Poll),
            libc::SYS_pselect6 => Some(Self::Select),
            libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 => Some(Self::Epoll),
            _ => None,
        }
    }
}

/// Whether a thread of process `pid` sleeps until there is something to read on what is `wanted`.
pub fn any_sleeps_on(pid: i32, wanted: &Wanted) -> bool {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return false };
    tasks.flatten().any(|task| Task { pid, path: task.path().to_string_lossy().into_owned() }.sleeps_on(wanted))
}

/// A thread.
struct Task {
    pid: i32,
    /// `/proc/PID/task/TID`.
    path: String,
}

impl Task {
    fn sleeps_on(&self, wanted: &Wanted) -> bool {
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
            Call::Read => wanted.is_at(&self.path, first),
            Call::Poll => self.polls(first, second, wanted),
            Call::Restarted => self.is_in_poll() && self.polls(first, second, wanted),
            Call::Select => self.selects(first, second, wanted),
            Call::Epoll => self.epoll_waits(first, EPOLL_DEPTH, wanted),
        }
    }

    fn is_in_poll(&self) -> bool {
        std::fs::read_to_string(format!("{}/wchan", self.path)).is_ok_and(|place| place.starts_with(POLL_SLEEP))
    }

    /// Whether descriptor `number` can be read when what is `wanted` can: it is that, or an epoll that watches it.
    fn is_about(&self, number: u64, depth: usize, wanted: &Wanted) -> bool {
        wanted.is_at(&self.path, number)
            || (depth > 0 && epoll::is_one(&self.path, number) && self.epoll_waits(number, depth - 1, wanted))
    }

    fn polls(&self, address: u64, count: u64, wanted: &Wanted) -> bool {
        let count = usize::try_from(count).unwrap_or(usize::MAX).min(MOST_POLLED);
        let entries = self.read_memory(address, count * 8);
        let (entries, _) = entries.as_chunks::<8>();
        entries.iter().any(|&[a, b, c, d, e, f, _, _]| {
            let descriptor = i32::from_ne_bytes([a, b, c, d]);
            let events = u32::from(u16::from_ne_bytes([e, f]));
            descriptor >= 0
                && events & READABLE != 0
                && self.is_about(u64::from(descriptor.cast_unsigned()), EPOLL_DEPTH, wanted)
        })
    }

    fn selects(&self, count: u64, readable: u64, wanted: &Wanted) -> bool {
        let count = usize::try_from(count).unwrap_or(usize::MAX).min(MOST_POLLED);
        let set = self.read_memory(readable, count.div_ceil(8));
        let is_set = |number: &usize| set.get(number / 8).is_some_and(|byte| byte >> (number % 8) & 1 == 1);
        (0..count).filter(is_set).any(|number| self.is_about(number as u64, EPOLL_DEPTH, wanted))
    }

    fn epoll_waits(&self, epoll: u64, depth: usize, wanted: &Wanted) -> bool {
        epoll::watched(&self.path, epoll).any(|watched| {
            if watched.events & READABLE == 0 {
                return false;
            }
            // The number that it was registered by may be closed by now, or given to another file.
            wanted.is_file(watched.file)
                || (File::at(&self.path, watched.number) == Some(watched.file)
                    && self.is_about(watched.number, depth, wanted))
        })
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
