//! The client of a sandbox' daemon (`envd`) and of the control plane: everything that goes over the network to E2B-compatible
//! servers. Portable; knows nothing of the supervisor's protocol.
//!
//! The parts: [`facts`] and [`url`] say where a sandbox is, [`client`] holds its connections, one file an operation beside it;
//! `connect` puts tonic's generated clients on the Connect protocol.

mod client;
mod connect;
mod control_plane;
mod directory;
mod error;
pub mod facts;
mod http;
mod json;
mod output;
mod remove;
mod secret;
mod send_input;
mod send_signal;
mod start;
mod stream_input;
mod stubs;
mod tls;
mod upload;
pub mod url;
mod version;

pub(crate) use self::{
    control_plane::Reply,
    directory::{Kind, Made},
    http::{Lanes, parse_base},
    version::Version,
};

#[cfg(test)]
pub(crate) mod real_daemon_tests;
#[cfg(test)]
pub(crate) mod test_delay;
#[cfg(test)]
pub(crate) mod test_noise;
#[cfg(test)]
pub(crate) mod test_server;
#[cfg(test)]
mod wire_tests;

pub use self::{
    client::Envd,
    control_plane::{ControlPlane, SandboxState},
    error::Error,
    facts::SandboxFacts,
    http::USER_AGENT,
    output::{Ended, Event, Output},
    secret::Secret,
    start::{Start, Started},
    stream_input::{InputOutcome, InputSink},
    upload::Upload,
};
