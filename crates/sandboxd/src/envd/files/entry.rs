//! What an upload answers for each file.

use std::{collections::BTreeMap, path::Path};

use serde::Serialize;

use crate::envd::{filesystem::metadata, path};

/// One written file. Clients compare it whole: there is nothing else in it, and no empty metadata.
#[derive(Debug, Serialize)]
pub struct Entry {
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<BTreeMap<String, String>>,
    name: String,
    /// Absolute.
    pub path: String,
    r#type: &'static str,
}

impl Entry {
    /// Describes a file, with the metadata that the file system has kept of it.
    pub fn of(file: &Path) -> Self {
        let kept = metadata::read(file);
        Self {
            metadata: (!kept.is_empty()).then_some(kept),
            name: path::base(file),
            path: file.to_string_lossy().into_owned(),
            r#type: "file",
        }
    }
}
