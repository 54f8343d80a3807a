//! The Node addon.

pub mod envd;
