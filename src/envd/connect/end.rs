//! How Connect says that a call failed: an error object, in the end frame of a stream or as the body of an HTTP error.

use serde::Deserialize;
use tonic::{Code, Status};

use crate::{envd::error::Cause, text::shorten};

/// The wire names of the codes.
const NAMES: [(&str, Code); 16] = [
    ("canceled", Code::Cancelled),
    ("unknown", Code::Unknown),
    ("invalid_argument", Code::InvalidArgument),
    ("deadline_exceeded", Code::DeadlineExceeded),
    ("not_found", Code::NotFound),
    ("already_exists", Code::AlreadyExists),
    ("permission_denied", Code::PermissionDenied),
    ("resource_exhausted", Code::ResourceExhausted),
    ("failed_precondition", Code::FailedPrecondition),
    ("aborted", Code::Aborted),
    ("out_of_range", Code::OutOfRange),
    ("unimplemented", Code::Unimplemented),
    ("internal", Code::Internal),
    ("unavailable", Code::Unavailable),
    ("data_loss", Code::DataLoss),
    ("unauthenticated", Code::Unauthenticated),
];

/// The wire name of `code`.
pub(crate) fn code_name(code: Code) -> &'static str {
    NAMES.iter().find(|(_, known)| *known == code).map_or("ok", |(name, _)| name)
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct EndStream {
    error: Option<WireError>,
}

/// `code` is a text in Connect errors and a number in those of edges and REST handlers.
#[derive(Default, Deserialize)]
#[serde(default)]
struct WireError {
    code: serde_json::Value,
    message: Option<String>,
}

/// What the payload of an end frame says.
pub(super) fn of_end_frame(payload: &[u8]) -> Result<(), Status> {
    // By way of a map: serde would take an array for a struct as well.
    let end: EndStream = serde_json::from_slice::<serde_json::Map<_, _>>(payload)
        .and_then(|members| serde_json::from_value(members.into()))
        .map_err(|error| Cause::Protocol.status(Code::Internal, format!("unreadable end frame: {error}")))?;
    match end.error {
        None => Ok(()),
        Some(error) => Err(Cause::Answer.status(
            error.code.as_str().and_then(named).unwrap_or(Code::Unknown),
            shorten(error.message.unwrap_or_default()),
        )),
    }
}

/// The status for an answer with another HTTP status than 200.
pub(crate) fn of_http_error(status: http::StatusCode, body: &[u8]) -> Status {
    let error: WireError = serde_json::from_slice(body).unwrap_or_default();
    if let Some(code) = error.code.as_str().and_then(named) {
        return Cause::Answer.status(code, shorten(error.message.unwrap_or_default()));
    }
    let code = match status.as_u16() {
        400 => Code::InvalidArgument,
        401 => Code::Unauthenticated,
        403 => Code::PermissionDenied,
        404 | 405 | 415 | 501 => Code::Unimplemented,
        // 409 is the edge's word for a sandbox that is being paused or resumed.
        409 | 429 | 502 | 503 | 504 => Code::Unavailable,
        _ => Code::Unknown,
    };
    let message = error.message.unwrap_or_else(|| String::from_utf8_lossy(body).trim().to_owned());
    let message = if message.is_empty() { format!("HTTP status {status}") } else { message };
    Cause::Http(status.as_u16()).status(code, shorten(message))
}

/// What the daemon's own answer to an upload says of the sandbox' disk, where trying again is of no use: 507, or 500 with one of the kernel's
/// words for that. `None` for anything else: a body that broke off on its way is a 500 as well, and an edge has errors of its own.
pub(crate) fn of_storage(status: http::StatusCode, body: &[u8]) -> Option<String> {
    let error: WireError = serde_json::from_slice(body).ok()?;
    // An edge's page is no JSON, or has another code in it.
    if error.code.as_u64() != Some(status.as_u16().into()) {
        return None;
    }
    let message = error.message?;
    let words = message.to_lowercase();
    let is_final = match status.as_u16() {
        507 => true,
        500 => FINAL_ON_DISK.iter().any(|text| words.contains(text)),
        _ => false,
    };
    is_final.then(|| shorten(message))
}

/// Texts of error numbers, as every language says them, and the daemon's own for a file in a folder's place. It makes folders that are missing:
/// what is missing all the same is behind a link.
const FINAL_ON_DISK: [&str; 10] = [
    "no space left on device",
    "disk quota exceeded",
    "read-only file system",
    "no such file or directory",
    "not a directory",
    "path is a file",
    "file exists",
    "too many levels of symbolic links",
    "permission denied",
    "operation not permitted",
];

fn named(name: &str) -> Option<Code> {
    NAMES.iter().find(|(known, _)| *known == name).map(|(_, code)| *code)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

    use super::*;
    use crate::envd::Error;

    fn http(status: u16, body: &str) -> Error {
        of_http_error(http::StatusCode::from_u16(status).unwrap(), body.as_bytes()).into()
    }

    #[test]
    fn an_end_frame_without_an_error_is_a_clean_end_in_every_spelling() {
        for payload in ["{}", r#"{"error":null}"#, r#"{"metadata":{"a":["b"]}}"#] {
            assert!(of_end_frame(payload.as_bytes()).is_ok(), "{payload}");
        }
    }

    #[test]
    fn an_end_frame_with_an_error_keeps_its_code_and_text() {
        let status =
            of_end_frame(br#"{"error":{"code":"not_found","message":"no process 7","details":[{}]}}"#).unwrap_err();
        assert!(matches!(status.into(), Error::NotFound(text) if text == "no process 7"));
    }

    #[test]
    fn nonsense_in_an_end_frame_is_a_protocol_error() {
        assert!(matches!(of_end_frame(b"<html>").unwrap_err().into(), Error::Protocol(_)));
    }

    #[test]
    fn the_edges_502_is_a_lost_link_whatever_its_body_says() {
        for body in ["", "<html>", r#"{"sandboxId":"x","message":"sandbox not found","code":502}"#] {
            assert!(matches!(http(502, body), Error::Unavailable { status: Some(502), .. }), "{body}");
        }
    }

    #[test]
    fn a_404_without_a_connect_error_is_an_unknown_method_and_with_one_an_unknown_process() {
        assert!(matches!(http(404, "404 page not found"), Error::Unsupported(_)));
        assert!(matches!(http(404, r#"{"code":404,"message":"x"}"#), Error::Unsupported(_)));
        assert!(matches!(http(404, r#"{"code":"not_found","message":"x"}"#), Error::NotFound(_)));
    }

    #[test]
    fn a_401_is_typed_with_either_body() {
        assert!(
            matches!(http(401, r#"{"code":401,"message":"unauthorized"}"#), Error::Unauthorized(text) if text == "unauthorized")
        );
        assert!(matches!(http(401, r#"{"code":"unauthenticated"}"#), Error::Unauthorized(_)));
    }

    #[test]
    fn a_disk_that_takes_nothing_is_the_daemons_own_word_and_nobody_elses() {
        let storage =
            |status: u16, body: &str| of_storage(http::StatusCode::from_u16(status).unwrap(), body.as_bytes());
        let full = r#"{"code":507,"message":"attempted to write 7 bytes: not enough disk space available"}"#;
        assert!(storage(507, full).is_some_and(|text| text.contains("not enough disk space")));
        for text in [
            "error opening file: open /r/x: read-only file system",
            "error opening file: Read-only file system (os error 30)",
            "error ensuring directories: path is a file: /r",
            "error ensuring directories: failed to create directory: mkdir /r: file exists",
            "error ensuring directories: failed to chown directory: chown /r: no such file or directory",
            "error ensuring directories: failed to stat directory: stat /r: too many levels of symbolic links",
        ] {
            assert_eq!(storage(500, &format!(r#"{{"code":500,"message":"{text}"}}"#)).as_deref(), Some(text));
        }
        for (status, body) in [
            (500, r#"{"code":500,"message":"error writing file: unexpected EOF"}"#),
            (500, r#"{"code":500,"message":"error writing file: open /r/x: input/output error"}"#),
            (500, "read-only file system"),
            (502, r#"{"code":502,"message":"permission denied"}"#),
            (507, "<html>Insufficient Storage"),
            (507, r#"{"code":500,"message":"x"}"#),
        ] {
            assert_eq!(storage(status, body), None, "{status} {body}");
        }
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let Error::Remote { message, .. } = http(500, &"€".repeat(4000)) else { panic!("another kind") };
        assert!(message.len() < crate::text::MAX_TEXT + 4 && message.ends_with('…'));
    }

    #[test]
    fn every_code_has_one_name() {
        for (name, code) in NAMES {
            assert_eq!(code_name(code), name);
            assert_eq!(named(name), Some(code));
        }
    }
}
