//! An E2B-compatible sandbox service on loopback.
fn main() {}
