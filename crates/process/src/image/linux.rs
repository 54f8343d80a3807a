//! An image on its way to another process.

use std::os::fd::OwnedFd;

use rustix::fs::{MemfdFlags, SealFlags};

use super::ExecImage;

impl ExecImage {
    /// The image in a sealed memfd, for a child that maps it privately.
    pub fn to_memfd(&self) -> std::io::Result<OwnedFd> {
        let memfd = rustix::fs::memfd_create(c"exec", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        let mut rest = self.bytes();
        while !rest.is_empty() {
            let written = rustix::io::retry_on_intr(|| rustix::io::write(&memfd, rest))?;
            rest = &rest[written..];
        }
        let seals = SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE;
        rustix::fs::fcntl_add_seals(&memfd, seals)?;
        Ok(memfd)
    }
    fn bytes(&self) -> &[u8] {
        // SAFETY: the words are initialised and live as long as `self`; bytes need no alignment.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), self.size()) }
    }
}
