//! The one line on standard output.

use std::fmt;
use std::io;

use serde::Serialize;

use super::Listeners;
use crate::boxes::Isolation;

/// Where the service can be reached; its text is one line of JSON.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Ready {
    /// What `E2B_API_URL` has to be.
    pub api_url: String,
    /// What `E2B_SANDBOX_URL` has to be.
    pub sandbox_url: String,
    /// The debug mode's address, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debug_url: Option<String>,
    /// What separates sandboxes from the host.
    pub isolation: Isolation,
    /// The process id of the service.
    pub pid: u32,
    /// All ports of the service.
    #[serde(skip)]
    pub ports: Vec<u16>,
}

impl Ready {
    /// The facts of bound listeners.
    ///
    /// # Errors
    /// When a socket has no address.
    pub fn new(listeners: &Listeners, isolation: Isolation) -> io::Result<Self> {
        let (control, edge) = (listeners.control.local_addr()?, listeners.edge.local_addr()?);
        let debug = listeners.debug.first().map(tokio::net::TcpListener::local_addr).transpose()?;
        Ok(Self {
            api_url: format!("http://{control}"),
            sandbox_url: format!("http://{edge}"),
            debug_url: debug.map(|address| format!("http://localhost:{}", address.port())),
            isolation,
            pid: std::process::id(),
            ports: [Some(control), Some(edge), debug].into_iter().flatten().map(|address| address.port()).collect(),
        })
    }
}

impl fmt::Display for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = serde_json::to_string(self).map_err(|_| fmt::Error)?;
        f.write_str(&line)
    }
}
