//! Both ends in one process, in virtual time, over connections that are cut anywhere.

#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, reason = "a failed unwrap fails the test")]

mod bounds;
mod commands;
mod connections;
mod ends;
mod hostile;
mod life;
mod schedules;
mod world;
