//! The words on the control socket between the service and a box.
//!
//! Single bytes from the service ([`FREEZE`], [`THAW`]), each echoed when done; lines from the box, of which the first is
//! [`READY`] or says what failed. The end of the socket is the end of the box.

/// Stop every process of the box.
pub const FREEZE: u8 = b'p';
/// Let them go on.
pub const THAW: u8 = b'c';
/// The box is built and its daemon has been started.
pub const READY: &str = "ready";
