//! The Node addon.

pub mod delivery;
pub mod envd;
