//! Programs on this very machine (contract C70–C75): the same [`crate::session::command::Command`]s as in a sandbox, with the
//! kernel behind them instead of a supervisor.
//!
//! * JavaScript's thread starts the program ([`start`], [`terminal`]) and knows its id when that returns.
//! * One task a command follows its life ([`life`]), one each stream ([`reader`], [`writer`]), one takes JavaScript's wishes
//!   ([`wishes`]), and one ends the tree while that is asked for ([`ladder`]).
//! * Passes over all processes are made by one thread for all of them ([`passes`]).
//! * What a violent death of this process would leave behind is ended by a small process beside it ([`guard`]), on Linux.
//!
//! `docs/local.md` says what holds and why.

pub mod ambient;
mod attend;
mod flow;
#[cfg_attr(target_os = "linux", path = "guard.rs")]
#[cfg_attr(not(target_os = "linux"), path = "unguarded.rs")]
pub mod guard;
mod kin;
mod ladder;
mod leader;
mod life;
pub mod living;
mod loan;
mod numbers;
mod passes;
mod reader;
#[cfg(target_os = "linux")]
mod roll;
mod side;
mod spill;
pub mod start;
pub mod terminal;
mod tree;
mod watched;
mod wishes;
mod writer;
