//! Both ends in one process, in virtual time, over connections that are cut anywhere.

#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, reason = "a failed unwrap fails the test")]

mod bounds;
mod commands;
mod connections;
mod ends;
mod hostile;
mod life;
mod packed;
mod schedules;
mod world;

/// A number from the environment, for extended runs.
fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}
