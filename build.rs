//! Generates the clients of the sandbox daemon's services (`src/envd/stubs.rs`): one set for binary
//! messages, one for JSON. Needs no `protoc`.

use std::{env, error::Error, fs, path::PathBuf};

const PROTO: &str = "crates/envd-api/proto";

fn main() -> Result<(), Box<dyn Error>> {
    napi_build::setup();
    println!("cargo::rerun-if-changed={PROTO}");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    for (folder, codec) in [("binary", "tonic_prost::ProstCodec"), ("json", "crate::envd::json::JsonCodec")] {
        let folder = out.join(folder);
        fs::create_dir_all(&folder)?;
        tonic_prost_build::configure()
            .build_server(false)
            .build_transport(false)
            .codec_path(codec)
            .out_dir(folder)
            // The messages are those of `envd-api`: one description, one set of types.
            .extern_path(".process", "::envd_api::process")
            .extern_path(".filesystem", "::envd_api::filesystem")
            .compile_fds(protox::compile(["process.proto", "filesystem.proto"], [PROTO])?)?;
    }
    Ok(())
}
