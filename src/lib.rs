//! The Node addon.

pub mod delivery;
pub mod envd;
pub mod owner;
mod binding;
#[cfg(target_os = "linux")]
pub mod local;
pub mod remote;
pub mod session;
