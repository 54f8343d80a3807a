//! The Connect protocol on HTTP/1.1: unary, server-streaming and client-streaming calls, each in
//! JSON and in binary protobuf.
//!
//! Only what clients of the sandbox daemon use is spoken: no gRPC, no gRPC-Web, no GET requests.
//! Messages come from `envd-api`, which implements both encodings for the same types.

mod call;
mod client_stream;
mod code;
mod codec;
mod deadline;
mod envelope;
mod error;
mod header;
mod server_stream;
mod unary;

pub use call::Call;
pub use client_stream::{Messages, client_stream};
pub use code::Code;
pub use codec::Codec;
pub use error::Error;
pub use header::keepalive_interval;
pub use server_stream::{Stream, server_stream};
pub use unary::unary;
