//! Linux process mechanics: a plain library without async and without any protocol.
//!
//! * Before a program runs: [`environment`], [`account`], [`lookup`], [`image`], [`stdio`], [`pipe`], [`pty`].
//! * Starting it: [`spawn`] (at once, by a `vfork`-like clone) or [`prepared`] (a child whose pid is known ahead).
//! * While it runs: [`pidfd`], [`number`], [`procfs`], [`session`], [`orphans`], [`terminate`], [`lost`], [`mark`], [`waiting`].
//! * After it ended: [`exit`], [`signals`].
//! * Beside it: [`spill`], [`limits`].
#![cfg(target_os = "linux")]
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed unwrap fails the test"))]

pub mod account;
mod child;
pub mod environment;
pub mod exit;
pub mod image;
pub mod limits;
pub mod lookup;
pub mod lost;
pub mod mark;
pub mod number;
pub mod orphans;
pub mod pidfd;
pub mod pipe;
pub mod prepared;
pub mod procfs;
pub mod pty;
pub mod session;
pub mod signals;
pub mod spawn;
pub mod spill;
pub mod stdio;
pub mod terminate;
pub mod waiting;

#[cfg(test)]
mod testing;

pub use child::{Failure, Settings, Stage};
pub use rustix::process::Pid;

// The exec image keeps pointers in 64-bit words.
const _: () = assert!(size_of::<usize>() == 8);
