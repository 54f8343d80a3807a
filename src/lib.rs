//! The Node addon.

mod binding;
pub mod delivery;
pub mod envd;
#[cfg(any(target_os = "linux", target_os = "macos"))]
pub mod local;
pub mod owner;
pub mod remote;
pub mod session;
mod text;
