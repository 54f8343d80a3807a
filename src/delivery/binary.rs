//! The static supervisor as the package carries it.

use std::io::Read as _;

use bytes::Bytes;
use flate2::read::GzDecoder;

use super::error::DeliveryError;

/// A processor that there is a supervisor for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// 64-bit x86.
    X86_64,
    /// 64-bit Arm.
    Aarch64,
}

impl Machine {
    /// What `uname -m` says on it.
    pub fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        }
    }
}

/// One build of the supervisor.
#[derive(Clone, Debug)]
pub struct SupervisorBinary {
    /// What it runs on.
    pub machine: Machine,
    /// The file, compressed by gzip.
    pub gzip: Bytes,
    /// SHA-256 of the file itself, in lower-case hex: its first twelve digits name it in the sandbox.
    pub sha256: String,
    /// Length of the file itself, in bytes.
    pub size: u64,
}

impl SupervisorBinary {
    /// The file's name in the sandbox. Another content has another name, so a file of this name is right or absent.
    pub(super) fn file_name(&self) -> String {
        format!(".supervisor-{}", self.sha256.get(..12).unwrap_or(&self.sha256))
    }

    /// The file itself.
    ///
    /// # Errors
    /// [`DeliveryError::Package`] when what the package holds is not what it says.
    pub(crate) fn unpacked(&self) -> Result<Bytes, DeliveryError> {
        let mut file = Vec::new();
        // One byte more than announced shows a wrong length without unpacking a bomb.
        GzDecoder::new(self.gzip.as_ref())
            .take(self.size.saturating_add(1))
            .read_to_end(&mut file)
            .map_err(|error| DeliveryError::Package(error.to_string()))?;
        if u64::try_from(file.len()).ok() != Some(self.size) {
            return Err(DeliveryError::Package(format!("its length is not {}", self.size)));
        }
        Ok(file.into())
    }
}

#[cfg(test)]
pub(super) mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

    use std::io::Write as _;

    use flate2::{Compression, write::GzEncoder};

    use super::*;

    /// A "supervisor" made of `content`; `name` stands for its hash.
    pub(in crate::delivery) fn fake(machine: Machine, content: &[u8], name: &str) -> SupervisorBinary {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(content).unwrap();
        let size = u64::try_from(content.len()).unwrap();
        SupervisorBinary { machine, gzip: gzip.finish().unwrap().into(), sha256: name.into(), size }
    }

    #[test]
    fn a_package_with_another_length_or_content_is_refused() {
        let mut binary = fake(Machine::X86_64, b"content", "0123456789abcdef");
        assert_eq!(binary.unpacked().unwrap(), "content");
        assert_eq!(binary.file_name(), ".supervisor-0123456789ab");
        for size in [6, 8] {
            binary.size = size;
            assert!(binary.unpacked().is_err(), "{size}");
        }
        binary.gzip = Bytes::from_static(b"no gzip");
        assert!(binary.unpacked().is_err());
    }
}
