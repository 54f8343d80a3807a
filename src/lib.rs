//! The Node addon.

pub mod delivery;
pub mod envd;
pub mod owner;
mod binding;
pub mod remote;
pub mod session;
