//! No guard: its binary is the supervisor's, which is Linux'. What a violent death of this process leaves behind runs on here.

use process::Pid;
use tokio::runtime::Handle;

use crate::remote::PackedSupervisor;

/// Nothing in the package guards this system.
pub fn arm(_runtime: &Handle, _packed: PackedSupervisor) {}

/// Nobody is told.
pub fn begin(_session: Pid) {}

/// Nobody was told.
pub fn end(_session: Pid) {}
