//! The inner half: the daemon inside one sandbox.
//!
//! Speaks what E2B's own daemon speaks, as that was observed: the services `process.Process` and
//! `filesystem.Filesystem` over Connect, files over plain HTTP, and a few calls for the control
//! plane. Where the real daemon has a rule, however odd, it is kept; where a rule is a plain defect
//! (a header that ends the daemon, a tag lookup that depends on chance), it is not.
//!
//! Layers, outermost first: CORS, access token, user name, router. One [`Sandbox`](sandbox::Sandbox)
//! holds what the calls share.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic is how a test fails"))]

pub mod account;
mod authentication;
pub mod connect;
mod envs;
mod error;
mod files;
mod filesystem;
mod health;
mod init;
mod json_error;
mod metrics;
mod options;
mod path;
mod polled;
mod process;
mod routes;
pub mod sandbox;
mod serve;

pub use error::Error;
pub use options::Options;
pub use serve::{Listener, run};

/// What the daemon says its version is: the one whose behaviour it has.
pub const VERSION: &str = "0.6.13";
