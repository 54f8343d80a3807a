//! Process mechanics of Linux and, as far as POSIX goes, of macOS: a plain library without async and without any protocol.
//!
//! * Before a program runs: [`environment`], [`account`], [`lookup`], [`image`], [`stdio`], [`pipe`], [`pty`].
//! * Starting it: [`spawn`] (at once, by a `vfork`-like clone) or [`prepared`] (a child whose pid is known ahead).
//! * While it runs: [`pidfd`], [`number`], [`table`], [`session`], [`orphans`], [`terminate`], [`lost`], [`mark`], [`waiting`].
//! * After it ended: [`exit`], [`signals`].
//! * Beside it: [`spill`], [`limits`].
//!
//! What differs between the two is in `linux.rs` and `macos.rs` below the module that it belongs to. Modules that are whole Linux have no
//! counterpart: they serve the supervisor, which runs there only.
#![cfg(any(target_os = "linux", target_os = "macos"))]
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed unwrap fails the test"))]

#[cfg(target_os = "linux")]
pub mod account;
mod child;
pub mod environment;
pub mod exit;
pub mod image;
#[cfg(target_os = "linux")]
pub mod limits;
pub mod lookup;
#[cfg(target_os = "linux")]
pub mod lost;
#[cfg(target_os = "linux")]
pub mod mark;
pub mod number;
#[cfg(target_os = "linux")]
pub mod orphans;
pub mod pidfd;
pub mod pipe;
#[cfg(target_os = "linux")]
pub mod prepared;
pub mod pty;
pub mod session;
pub mod signals;
pub mod spawn;
pub mod spill;
pub mod stdio;
pub mod table;
pub mod terminate;
pub mod waiting;

#[cfg(test)]
mod testing;

pub use child::{Failure, Settings, Stage};
pub use rustix::process::Pid;

// The exec image keeps pointers in 64-bit words.
const _: () = assert!(size_of::<usize>() == 8);
