//! The resident supervisor of one sandbox.
fn main() {}
