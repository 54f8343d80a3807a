//! Answers to `resolveExecutable` (C40).

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use process::lookup::{self, ResolveError};
use protocol::control::{Resolve, ResolveFailure};
use serde_bytes::ByteBuf;

/// The executable that a question is about. The question must carry its path and an absolute directory.
pub fn find(question: &Resolve) -> Result<ByteBuf, ResolveFailure> {
    let base = OsStr::from_bytes(&question.cwd);
    let path = question.path.as_ref().map_or(&[][..], |path| path);
    match lookup::resolve(&question.command, path, base.as_ref()) {
        Ok(found) => Ok(ByteBuf::from(lookup::path_bytes(found))),
        Err(ResolveError::NotFound(_)) => Err(ResolveFailure::NotOnPath),
        Err(_) => Err(ResolveFailure::NotExecutable),
    }
}
