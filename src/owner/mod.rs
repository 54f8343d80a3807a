//! The owner's side of a sandbox' life: it is created (or joined), given its directories, prolonged and killed.
//!
//! [`opening`] is the procedure; [`api`] are the requests to the control plane, each repeated only where nothing can be created
//! twice ([`retry`]); [`directories`] makes the shared and the private directory; [`shared`] lends the open connections to the
//! provider's session in the same process; [`binding`] is what JavaScript sees.

mod api;
mod binding;
mod directories;
mod error;
mod opening;
mod reply;
mod retry;
mod settings;
mod shared;

pub use self::{
    error::{OwnerError, OwnerErrorFacts},
    opening::{Opening, Unready},
    settings::{OwnerSettings, Target},
    shared::envd_of,
};

#[cfg(test)]
mod api_tests;
#[cfg(test)]
mod opening_tests;
