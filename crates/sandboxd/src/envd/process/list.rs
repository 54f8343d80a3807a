//! `List`.

use envd_api::process::{ListRequest, ListResponse, ProcessInfo};

use crate::envd::connect::{Call, Error};

/// The live processes, each with the configuration of its request.
pub async fn list(call: Call, _request: ListRequest) -> Result<ListResponse, Error> {
    let processes = call
        .sandbox
        .processes
        .all()
        .iter()
        .map(|process| ProcessInfo { config: Some(process.config.clone()), pid: process.pid, tag: process.tag.clone() })
        .collect();
    Ok(ListResponse { processes })
}
