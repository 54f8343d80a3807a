//! The Node addon.

pub mod delivery;
pub mod envd;
mod binding;
pub mod remote;
pub mod session;
