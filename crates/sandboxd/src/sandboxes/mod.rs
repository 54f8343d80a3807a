//! The sandboxes of the service: what they are and how they live and end.
//!
//! | from | to | by |
//! |---|---|---|
//! | – | running | create: the box is up and its daemon knows token and variables |
//! | running | paused | pause; the deadline, with `autoPause` |
//! | paused | running | connect, resume; a request to the edge, with `autoResume` |
//! | running, paused | ended | kill; the deadline; the box' own end; the end of the service |
//!
//! In the moment in which a sandbox stops running, first the edge answers new requests with 502, then the open ones are reset,
//! then the processes go: clients that look at the sandbox after a cut stream find it dead.

pub mod daemon;
pub mod deadline;
pub mod error;
pub mod id;
pub mod life;
pub mod metrics;
pub mod registry;
pub mod sandbox;
pub mod streams;

pub use error::Error;
pub use registry::Sandboxes;
pub use sandbox::{Phase, Sandbox, Spec};
