//! An E2B-compatible sandbox service on loopback, for development, demonstrations and tests.
//!
//! Two halves share one binary. The *outer* half (`sandboxd serve`) is the control plane
//! ([`control`]), the edge that routes requests to sandboxes ([`edge`]), the life of the sandboxes
//! ([`sandboxes`]), the boxes of namespaces that they run in ([`boxes`]) and a hook for tests that
//! counts requests and injects faults ([`hook`]). The *inner* half (`sandboxd envd`, [`envd`]) is the
//! daemon inside one sandbox, which the edge reaches over a Unix socket.

pub mod boxes;
pub mod cli;
pub mod control;
pub mod edge;
pub mod envd;
pub mod hook;
pub mod sandboxes;
pub mod serve;
pub mod solo;
