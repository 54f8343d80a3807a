//! Frames and the reliable link between host and supervisor; no I/O.
