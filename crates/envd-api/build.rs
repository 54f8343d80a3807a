//! Generates the messages from our own description of the services; needs no `protoc`.

use std::{env, error::Error, fs, path::PathBuf};

use prost::Message as _;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=proto");
    let descriptors = protox::compile(["process.proto", "filesystem.proto"], ["proto"])?;
    let file = PathBuf::from(env::var("OUT_DIR")?).join("envd.bin");
    fs::write(&file, descriptors.encode_to_vec())?;

    prost_build::Config::new()
        .bytes(["."])
        .compile_well_known_types()
        .extern_path(".google.protobuf", "::pbjson_types")
        .compile_fds(descriptors)?;

    // The JSON mapping: lower camel case out, unknown fields ignored in, as the daemon's own.
    pbjson_build::Builder::new()
        .register_descriptors(&fs::read(&file)?)?
        .ignore_unknown_fields()
        .build(&[".process", ".filesystem"])?;
    Ok(())
}
