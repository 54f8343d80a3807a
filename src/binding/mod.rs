//! What JavaScript sees of the addon: three classes and one function, all synchronous.
//!
//! Nothing here makes promises or calls back but for one coalesced call an environment ([`waker`]); the shim
//! (`lib/`) pulls facts and makes of them what Node's programs expect.

mod handle;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod local;
mod log;
mod objects;
mod request;
pub(crate) mod runtime;
mod service;
pub(crate) mod waker;
