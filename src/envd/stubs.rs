//! The generated clients of the daemon's services; their messages are those of `envd-api`.

/// Clients that write binary messages.
#[allow(missing_docs, dead_code, clippy::all, clippy::unwrap_used, clippy::expect_used, reason = "generated code")]
pub(crate) mod binary {
    pub(crate) mod process {
        include!(concat!(env!("OUT_DIR"), "/binary/process.rs"));
    }
    pub(crate) mod filesystem {
        include!(concat!(env!("OUT_DIR"), "/binary/filesystem.rs"));
    }
}

/// Clients that write JSON.
#[allow(missing_docs, dead_code, clippy::all, clippy::unwrap_used, clippy::expect_used, reason = "generated code")]
pub(crate) mod json {
    pub(crate) mod process {
        include!(concat!(env!("OUT_DIR"), "/json/process.rs"));
    }
    pub(crate) mod filesystem {
        include!(concat!(env!("OUT_DIR"), "/json/filesystem.rs"));
    }
}
