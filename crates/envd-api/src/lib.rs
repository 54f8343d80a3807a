//! Messages of the sandbox daemon's two services, in binary protobuf (`prost`) and in the JSON
//! mapping (`serde`), generated from `proto/`.
//!
//! Shared by the client in the addon and by the embedded sandbox service, so that there is one
//! description of the wire format in the project.

/// Messages of `process.Process`.
#[allow(missing_docs, clippy::all, reason = "generated code")]
pub mod process {
    include!(concat!(env!("OUT_DIR"), "/process.rs"));
    include!(concat!(env!("OUT_DIR"), "/process.serde.rs"));
}

/// Messages of `filesystem.Filesystem`.
#[allow(missing_docs, clippy::all, reason = "generated code")]
pub mod filesystem {
    include!(concat!(env!("OUT_DIR"), "/filesystem.rs"));
    include!(concat!(env!("OUT_DIR"), "/filesystem.serde.rs"));
}
