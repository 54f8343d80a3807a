//! `Stat`.

use envd_api::filesystem::{StatRequest, StatResponse};

use super::{
    entry::Entries,
    target::{blocking, target},
};
use crate::envd::connect::{Call, Error};

/// What is told of one file.
///
/// # Errors
/// `not_found`; `internal`.
pub async fn stat(call: Call, request: StatRequest) -> Result<StatResponse, Error> {
    blocking(move || {
        let (_, path) = target(&call, &request.path)?;
        Ok(StatResponse { entry: Some(Entries::default().entry(&path)?) })
    })
    .await
}
