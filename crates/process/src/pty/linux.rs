//! Pseudo-terminals of Linux.

use std::io;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::pty::OpenptFlags;

/// Of `asm-generic/ioctls.h`, for which no binding has a name.
const TIOCSIG: u32 = 0x4004_5436;

/// Far and near end, both close-on-exec.
pub(super) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = rustix::pty::openpt(flags)?;
    rustix::pty::unlockpt(&master)?;
    let near = open_near(&master, flags)?;
    Ok((master, near))
}

/// Lets the terminal `master` itself signal the group in front, as its keys do: whoever that belongs to. Whether that can be done;
/// the kernel does it for the signals of keys only.
pub(super) fn signal(master: &OwnedFd, signal: i32) -> bool {
    // SAFETY: TIOCSIG takes a number; the descriptor is open.
    unsafe { libc::ioctl(std::os::fd::AsRawFd::as_raw_fd(master), TIOCSIG as _, signal) == 0 }
}

fn open_near(master: &OwnedFd, flags: OpenptFlags) -> io::Result<OwnedFd> {
    // By the far end itself where the kernel can (4.13): no path, so no question of which /dev/pts.
    match rustix::pty::ioctl_tiocgptpeer(master, flags) {
        Ok(near) => Ok(near),
        Err(Errno::NOTTY | Errno::INVAL) => {
            let path = rustix::pty::ptsname(master, Vec::new())?;
            let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY | rustix::fs::OFlags::CLOEXEC;
            Ok(rustix::fs::open(path, flags, rustix::fs::Mode::empty())?)
        }
        Err(error) => Err(error.into()),
    }
}
