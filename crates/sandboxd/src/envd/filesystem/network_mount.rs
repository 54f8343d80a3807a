//! Which file systems have no events of what others do in them.

use std::path::Path;

use crate::envd::connect::Error;

/// NFS, CIFS, SMB, SMB2, FUSE.
const NETWORK: [u64; 5] = [0x6969, 0xff53_4d42, 0x517b, 0xfe53_4d42, 0x6573_5546];

/// Refuses to watch a directory on a network file system.
///
/// # Errors
/// `invalid_argument` for such; `internal` when the system doesn't tell.
pub fn refuse(directory: &Path) -> Result<(), Error> {
    let statistics = rustix::fs::statfs(directory)
        .map_err(|error| Error::internal(format!("error checking mount status: {error}")))?;
    if u64::try_from(statistics.f_type).is_ok_and(|kind| NETWORK.contains(&kind)) {
        let message = format!("cannot watch path on network filesystem: {}", directory.display());
        return Err(Error::invalid_argument(message));
    }
    Ok(())
}
