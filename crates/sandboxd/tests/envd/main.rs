//! The daemon of one sandbox, through its socket: what clients rely on.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic is how a test fails")]

mod access;
mod connect;
mod daemon;
mod events;
mod files;
mod input;
mod process;
mod watch;
