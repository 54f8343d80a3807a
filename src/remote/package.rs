//! The supervisors that the package carries.

use crate::delivery::{DeliveryError, Machine, SupervisorBinary};

/// A packed supervisor on this machine.
#[derive(Clone, Debug)]
pub struct PackedSupervisor {
    /// What it runs on.
    pub machine: Machine,
    /// Its gzip file.
    pub path: String,
    /// SHA-256 of the unpacked file, in lower-case hex.
    pub sha256: String,
    /// Length of the unpacked file, in bytes.
    pub size: u64,
}

impl PackedSupervisor {
    /// Reads the file.
    ///
    /// # Errors
    /// [`DeliveryError::Package`] when it can't be read.
    pub fn read(&self) -> Result<SupervisorBinary, DeliveryError> {
        let gzip =
            std::fs::read(&self.path).map_err(|error| DeliveryError::Package(format!("{}: {error}", self.path)))?;
        Ok(SupervisorBinary { machine: self.machine, gzip: gzip.into(), sha256: self.sha256.clone(), size: self.size })
    }
}
