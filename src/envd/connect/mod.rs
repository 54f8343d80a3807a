//! The Connect protocol under tonic's clients: one tower service over `reqwest`.
//!
//! tonic speaks gRPC: an enveloped body, HTTP/2, trailers. Connect, which every E2B-compatible server speaks, differs in the
//! headers, sends a unary message bare, and ends a stream with a frame instead of trailers. This layer translates both ways. Streams from
//! the server go past tonic ([`Messages`]).

mod end;
mod envelope;
mod envelopes;
mod messages;
mod method;
mod request;
mod response;
mod service;

pub(crate) use end::{code_name, of_http_error, of_storage};
pub(crate) use messages::Messages;
pub(crate) use service::{Codec, ConnectService};

/// The largest message that is taken from a peer. The daemon's own stream messages hold at most 32 KiB of data.
pub(crate) const MAX_MESSAGE: usize = 4 << 20;
