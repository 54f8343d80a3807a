//! How a session behaves.

use std::time::Duration;

use protocol::handshake::Settings;

/// Settings of a service, the same for each of its sandboxes.
#[derive(Clone, Debug)]
pub struct SessionSettings {
    /// What the supervisor is told.
    pub supervisor: Settings,
    /// How long an unreachable sandbox is waited for (C82).
    pub lost_after: Duration,
    /// Another host may have been there before with the same secrets, and have left commands running (C80).
    pub resumes: bool,
}
