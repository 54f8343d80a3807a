//! What a monitor has to know to build one box.

use std::collections::BTreeMap;
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// How far a box is separated from the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// Real root: mount, pid, ipc and uts namespaces; the accounts `user` and `root` inside.
    TwoUsers,
    /// No privileges: additionally a user namespace, in which there is one account, `user`, with the id of the
    /// caller (another one if that is 0). A second account needs root, or `newuidmap`.
    OneUser,
    /// No namespaces at all: programs see the host, as the caller. Only on request.
    Off,
}

/// The build plan of one box, written as `plan.json` into its directory.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// The box' directory: holds `root`, what the box sees as `/`, and whatever else goes with the box.
    pub dir: PathBuf,
    /// Files that all boxes of the service share, read-only (see [`super::shared`]).
    pub shared: PathBuf,
    /// Separation from the host.
    pub isolation: Isolation,
    /// Further paths of the host that the box sees, read-only, at the same place.
    pub show: Vec<PathBuf>,
    /// The soft limit of open descriptors inside; `None` is unlimited.
    pub descriptors: Option<u64>,
    /// The user id that the account `user` has inside.
    pub uid: u32,
    /// Its group id.
    pub gid: u32,
    /// The account that requests without a user name run as.
    pub user: String,
    /// Variables of every process that tell the sandbox who it is.
    pub variables: BTreeMap<String, String>,
}

impl Plan {
    /// The directory that the box sees as `/`.
    pub fn root(&self) -> PathBuf {
        self.dir.join("root")
    }

    /// The arguments of the box' daemon, given the number of its listening socket.
    pub fn daemon_arguments(&self, listener: RawFd) -> Vec<String> {
        let mut arguments = vec!["envd".to_owned(), format!("--listen-fd={listener}")];
        arguments.push(format!("--default-user={}", self.user));
        arguments.extend(self.variables.iter().map(|(name, value)| format!("--variable={name}={value}")));
        arguments
    }

    /// Reads the plan of the box in `dir`.
    ///
    /// # Errors
    /// When there is no readable plan.
    pub fn read(dir: &Path) -> std::io::Result<Self> {
        Ok(serde_json::from_slice(&std::fs::read(dir.join("plan.json"))?)?)
    }

    /// Writes the plan into its directory.
    ///
    /// # Errors
    /// When the directory is not writable.
    pub fn write(&self) -> std::io::Result<()> {
        std::fs::write(self.dir.join("plan.json"), serde_json::to_vec(self)?)
    }
}
