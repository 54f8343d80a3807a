//! Getting the supervisor to run in a sandbox, and a pair of byte streams to it.
//!
//! What is started is always `supervisor join DIR`; the first start and every later one are the same request. The first costs one round
//! trip more than a bare start at most: a shell line waits for the binary while it is being uploaded (`script`). Where the binary is known
//! to be, it is started straight away; where there is no shell, upload and start follow one another (`direct`).

mod attachment;
mod binary;
mod deliver;
mod direct;
mod error;
mod first_word;
mod root;
mod running;
mod script;
mod stderr_tail;
mod uploading;

#[cfg(test)]
mod real_daemon_tests;
#[cfg(test)]
mod wire_tests;

pub use self::{
    attachment::{Attachment, SupervisorOutput, UnaryInput},
    binary::{Machine, SupervisorBinary},
    deliver::{Delivery, DeliverySettings},
    error::DeliveryError,
};
