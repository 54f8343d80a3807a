//! Boxes: the process trees of namespaces that sandboxes run in.
//!
//! ```text
//! sandboxd serve
//!   └─ sandboxd init DIR     the monitor: host's pid namespace; holds the other end of a control socket   [monitor]
//!        └─ pid 1            reaps, freezes, dies with the monitor or the control socket                  [pid1]
//!             └─ sandboxd envd --listen-fd 3                                                              [crate::envd]
//! ```
//!
//! Nothing of a box outlives the service, however the service ends: the monitor and pid 1 both see the end of
//! the control socket, and pid 1 has a parent-death signal bound to the monitor, which has one thread only.
//! (A parent-death signal on the monitor itself would follow whichever worker thread happened to start it, and
//! would take away the one that still can delete the box' directory.)
//!
//! See [`Isolation`] for what separates a box from the host, [`root`] for what it sees of its files.

pub mod accounts;
pub mod boxed;
pub mod capabilities;
pub mod control;
pub mod descriptors;
pub mod devices;
pub mod error;
pub mod loose;
pub mod monitor;
pub mod namespaces;
pub mod pid1;
pub mod plan;
pub mod root;
pub mod shared;
pub mod skeleton;
pub mod start;
pub mod sudo;

pub use boxed::Boxed;
pub use error::Error;
pub use plan::{Isolation, Plan};
pub use start::{Boxes, Options};
