//! The inner half: the daemon inside one sandbox.
//!
//! Speaks what E2B's own daemon speaks, as that was observed: the services `process.Process` and
//! `filesystem.Filesystem` over Connect, files over plain HTTP, and a few calls for the control
//! plane. Where the real daemon has a rule, however odd, it is kept, down to what is lost and what is
//! held up. What differs:
//!
//! - Defects: a keepalive interval of zero counts as absent (there it ends the daemon), a tag finds its
//!   process whatever other tags there are, input before a start event is an error and not a crash.
//! - Chance: a kill answers when the process is gone, and a poll of a watcher holds all that happened
//!   before it; there both are likely only.
//! - Scope: Connect only, no gRPC; answers to calls aren't compressed; several ranges at once get the
//!   whole file; `/init` sets no clock, mounts or certificates; no cgroups, and processes keep the
//!   daemon's priorities.
//! - Words: the system's errors are told as Rust tells them. Codes are the same.
//!
//! Layers, outermost first: CORS, unread bodies, access token, user name, router. One [`Sandbox`](sandbox::Sandbox)
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
mod unread;

pub use error::Error;
pub use options::Options;
pub use serve::{Listener, run};

/// What the daemon says its version is: the one whose behaviour it has.
pub const VERSION: &str = "0.6.13";
