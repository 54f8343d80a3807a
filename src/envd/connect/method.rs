//! Which kind each call is: tonic does not pass it on to the transport.

/// The kind of a call, as far as its bodies differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// One bare message each way.
    Unary,
    /// One enveloped message up, a stream down.
    ServerStream,
    /// A stream up, one enveloped message down.
    ClientStream,
}

impl Kind {
    /// The kind of the call with this path, made by tonic; `None` for a path that no service here has, and for server streams.
    pub(super) fn of(path: &str) -> Option<Self> {
        let (service, method) = path.strip_prefix('/')?.split_once('/')?;
        match (service, method) {
            ("process.Process", "Start" | "Connect") | ("filesystem.Filesystem", "WatchDir") => None,
            ("process.Process", "StreamInput") => Some(Self::ClientStream),
            ("process.Process" | "filesystem.Filesystem", _) => Some(Self::Unary),
            _ => None,
        }
    }

    /// Whether the bodies are enveloped.
    pub(super) fn streams(self) -> bool {
        self != Self::Unary
    }
}
