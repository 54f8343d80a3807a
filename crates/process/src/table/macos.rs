//! From the kernel's own interface for `ps` and the like; no privilege is needed for what is asked here.

use std::ffi::c_int;
use std::io;
use std::mem::MaybeUninit;

use rustix::process::Pid;

use super::{Snapshot, Stat};

/// Room for processes that start while they are listed.
const SPARE: usize = 64;
/// Zombies shall be told of as well.
const WITH_ZOMBIES: u64 = 1;

/// Facts of process `pid`; `ESRCH` when there is none.
pub fn stat(pid: Pid) -> io::Result<Stat> {
    let info = info(pid.as_raw_pid())?;
    let is_zombie = info.pbi_status == libc::SZOMB;
    // Another question about the same number: whoever must know that both are about one process holds it by a `PidFd`.
    let session = if is_zombie { 0 } else { session(pid)? };
    Ok(Stat {
        pid: pid.as_raw_pid(),
        name: info.pbi_comm.iter().take_while(|&&byte| byte != 0).map(|&byte| byte.cast_unsigned()).collect(),
        state: letter(info.pbi_status),
        parent: info.pbi_ppid.cast_signed(),
        group: info.pbi_pgid.cast_signed(),
        session,
        terminal: terminal(info.e_tdev),
        start_time: info.pbi_start_tvsec * 1_000_000 + info.pbi_start_tvusec,
    })
}

/// Microseconds since 1970.
pub fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// The real user of process `pid`.
pub fn user(pid: Pid) -> io::Result<u32> {
    Ok(info(pid.as_raw_pid())?.pbi_ruid)
}

/// Reads the facts of all processes once.
pub fn snapshot() -> io::Result<Snapshot> {
    let mut pids = all()?;
    pids.sort_unstable();
    let mut snapshot = Snapshot::default();
    // The kernel itself is 0.
    for pid in pids.into_iter().filter_map(Pid::from_raw) {
        match stat(pid) {
            Ok(stat) => snapshot.processes.push(stat),
            Err(_) => snapshot.incomplete = true,
        }
    }
    Ok(snapshot)
}

fn info(pid: c_int) -> io::Result<libc::proc_bsdinfo> {
    let mut info = MaybeUninit::<libc::proc_bsdinfo>::uninit();
    let size = size_of::<libc::proc_bsdinfo>();
    let wanted = c_int::try_from(size).unwrap_or(c_int::MAX);
    // SAFETY: the kernel fills at most `wanted` bytes of a struct of that size.
    let filled =
        unsafe { libc::proc_pidinfo(pid, libc::PROC_PIDTBSDINFO, WITH_ZOMBIES, info.as_mut_ptr().cast(), wanted) };
    if filled != wanted {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: filled whole; every pattern of bits is a value of it.
    Ok(unsafe { info.assume_init() })
}

fn session(pid: Pid) -> io::Result<i32> {
    // SAFETY: takes a number.
    match unsafe { libc::getsid(pid.as_raw_pid()) } {
        session if session >= 0 => Ok(session),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The numbers of all processes.
fn all() -> io::Result<Vec<c_int>> {
    // SAFETY: without a buffer it says how many there are.
    let count = unsafe { libc::proc_listallpids(std::ptr::null_mut(), 0) };
    let mut room = usize::try_from(count).map_err(|_| io::Error::last_os_error())? + SPARE;
    loop {
        let mut pids: Vec<c_int> = vec![0; room];
        let bytes = c_int::try_from(size_of_val(pids.as_slice())).unwrap_or(c_int::MAX);
        // SAFETY: the kernel fills at most `bytes` bytes of the vector's own.
        let listed = unsafe { libc::proc_listallpids(pids.as_mut_ptr().cast(), bytes) };
        let listed = usize::try_from(listed).map_err(|_| io::Error::last_os_error())?;
        if listed < room {
            pids.truncate(listed);
            return Ok(pids);
        }
        room *= 2;
    }
}

/// `SIDL`, `SRUN`, `SSLEEP`, `SSTOP`, `SZOMB` as `ps` shows them. Whether it runs or sleeps is not known of a process here.
fn letter(status: u32) -> u8 {
    match status {
        libc::SIDL => b'I',
        libc::SSLEEP => b'S',
        libc::SSTOP => b'T',
        libc::SZOMB => b'Z',
        _ => b'R',
    }
}

/// 0 for none, as on Linux, instead of the kernel's `NODEV`.
fn terminal(device: u32) -> i32 {
    if device == u32::MAX { 0 } else { device.cast_signed() }
}
