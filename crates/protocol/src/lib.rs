//! What host and supervisor say to each other: one ordered, reliable channel that does not depend on
//! one connection.
//!
//! No I/O, no clock, no threads: [`Link`] is a state machine that both ends drive with bytes and the
//! time. `docs/protocol.md` is the description of the format; each module here is one part of it.
//!
//! | module | concern |
//! |---|---|
//! | [`wire`] | headers of messages and frames, and every bound |
//! | [`handshake`] | what is said when a connection begins |
//! | [`control`] | what is said about commands |
//! | [`decode`] | bytes to frames |
//! | [`pack`] | compression of bodies that shrink |
//! | [`seal`] | sealing of messages that a daemon would log |
//! | [`flight`] | what is unacknowledged, and how much may be |
//! | [`window`] | credit: how much a consumer will take |
//! | [`schedule`] | whose turn it is |
//! | [`link`] | the state machine that joins them |

pub mod control;
pub mod decode;
pub mod flight;
pub mod handshake;
pub mod link;
pub mod pack;
pub mod schedule;
pub mod seal;
pub mod time;
pub mod window;
pub mod wire;

pub use link::{Event, Filled, Link, LinkError, Message, Source};
pub use time::Time;
pub use wire::{Channel, CommandId, StreamId};
