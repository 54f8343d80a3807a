//! The control plane: the REST interface through which sandboxes are created, found, prolonged and ended.
//!
//! Every route wants `X-API-Key`; every error is JSON, `{"code": STATUS, "message": WORDS}`, because the SDKs decide by
//! the number in the body. Below `/_sandboxd/` is the hook for tests ([`crate::hook`]).

pub mod auth;
pub mod body;
pub mod count;
pub mod create;
pub mod error;
pub mod find;
pub mod life;
pub mod list;
pub mod metrics;
pub mod query;
pub mod router;
pub mod wire;

use std::sync::Arc;

pub use error::ApiError;

use crate::hook::{Counts, Links};
use crate::sandboxes::Sandboxes;

/// What all routes share.
#[derive(Clone, Debug)]
pub struct Control {
    /// The sandboxes.
    pub sandboxes: Arc<Sandboxes>,
    /// Connections at the edge, for the hook.
    pub links: Arc<Links>,
    /// Request counts, for the hook.
    pub counts: Arc<Counts>,
    /// Keys that are accepted; empty accepts every well-formed one.
    pub keys: Arc<[String]>,
    /// The domain that clients shall build host names from; none leaves it to them.
    pub domain: Option<Arc<str>>,
    /// The longest life of a sandbox in seconds.
    pub longest: u64,
}
