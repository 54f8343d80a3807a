//! As Linux numbers them.

/// The highest signal number of Linux.
pub const LAST: i32 = linux_signals::LAST as i32;

/// The name of signal `number`; `None` outside 1–64.
pub(super) fn name(number: i32) -> Option<String> {
    linux_signals::name(u8::try_from(number).ok()?)
}
