//! The Node addon.

mod binding;
pub mod delivery;
pub mod envd;
#[cfg(target_os = "linux")]
pub mod local;
pub mod owner;
pub mod remote;
pub mod session;
mod text;
