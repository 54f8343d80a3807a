//! Signals of the programs' system, which is Linux' numbering whatever runs here.

/// A signal's name; an unknown one is `SIGn`.
pub fn name(number: u8) -> String {
    linux_signals::name(number).unwrap_or_else(|| format!("SIG{number}"))
}

/// The number of a signal that `signalForeground` takes: one of those that Node has names for.
pub fn number(name: &str) -> Option<u8> {
    linux_signals::number(name).filter(|number| (1..=31).contains(number))
}
