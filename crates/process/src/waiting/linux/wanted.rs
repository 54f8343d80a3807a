//! What a thread may sleep on that matters: a terminal, or a unix socket.

use std::fs::Metadata;
use std::os::linux::fs::MetadataExt;

use crate::pty::Device;
use crate::table::linux as procfs;

/// Device number of `/dev/tty`: major 5, minor 0.
const DEV_TTY: u64 = 5 << 8;
/// How the kernel calls the protocols of unix sockets: `UNIX`, `UNIX-STREAM`, each with a zero behind it.
const UNIX: &[u8] = b"UNIX";

/// Which file something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File {
    /// Its inode.
    pub inode: u64,
    /// The device number of its file system, as the kernel itself has it: 20 bits are the minor one.
    pub filesystem: u64,
}

impl File {
    /// What descriptor `number` of the task at `path` is.
    pub fn at(path: &str, number: u64) -> Option<Self> {
        std::fs::metadata(format!("{path}/fd/{number}")).ok().as_ref().map(Self::of)
    }

    fn of(metadata: &Metadata) -> Self {
        Self::new(metadata.st_ino(), metadata.st_dev())
    }

    fn new(inode: u64, device: u64) -> Self {
        let filesystem = u64::from(libc::major(device)) << 20 | u64::from(libc::minor(device));
        Self { inode, filesystem }
    }
}

/// What is looked for.
pub enum Wanted {
    /// This terminal.
    Terminal(Device),
    /// Any unix socket.
    UnixSocket,
}

impl Wanted {
    /// Whether descriptor `number` of the task at `path` is such.
    pub fn is_at(&self, path: &str, number: u64) -> bool {
        let descriptor = format!("{path}/fd/{number}");
        match self {
            Self::Terminal(device) => {
                let Ok(metadata) = std::fs::metadata(descriptor) else { return false };
                metadata.st_rdev() == device.number
                    || (metadata.st_rdev() == DEV_TTY && is_controlled_by(path, device.number))
            }
            Self::UnixSocket => {
                let mut name = [0; 32];
                let length = rustix::fs::getxattr(descriptor, "system.sockprotoname", &mut name);
                length.is_ok() && name.starts_with(UNIX)
            }
        }
    }

    /// Whether this file is known to be such, whoever has it open.
    pub fn is_file(&self, file: File) -> bool {
        match self {
            Self::Terminal(device) => file == File::new(device.inode, device.filesystem),
            Self::UnixSocket => false,
        }
    }
}

fn is_controlled_by(path: &str, device: u64) -> bool {
    procfs::read_stat(format!("{path}/stat").as_ref()).is_ok_and(|stat| stat.controlling() == device)
}
