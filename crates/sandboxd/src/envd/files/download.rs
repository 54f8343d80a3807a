//! `GET /files`.

use std::{
    fs::{self, File, Metadata},
    io::{self, Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use async_compression::{Level, tokio::bufread::GzipEncoder};
use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header},
};
use tokio::io::{AsyncReadExt as _, BufReader};
use tokio_util::io::ReaderStream;

use super::{
    content_encoding::{self, Encoding},
    content_type, disposition,
    failure::Failure,
    query::Query,
    range::{self, Selection},
    signature::{self, Operation},
};
use crate::envd::{account::Account, path, sandbox::Sandbox};

/// How much is read from the disk at once.
const BLOCK: usize = 256 << 10;
/// How much of a file tells its type.
const SAMPLE: usize = 512;

/// Sends a file, or a part of it.
pub async fn download(State(sandbox): State<Arc<Sandbox>>, request: Request) -> Response<Body> {
    let query = match Query::of(request.uri()) {
        Ok(query) => query,
        Err(response) => return *response,
    };
    let headers = request.headers().clone();
    let found = tokio::task::spawn_blocking(move || {
        let file = find(&sandbox, &query, &headers)?;
        prepare(file, &headers)
    });
    match found.await.map_err(|error| Failure::internal(error.to_string())).and_then(|found| found) {
        Ok(response) => response,
        Err(failure) => failure.into_response(),
    }
}

fn find(sandbox: &Sandbox, query: &Query, headers: &HeaderMap) -> Result<PathBuf, Failure> {
    signature::authorize(sandbox.token().as_deref(), headers, query, Operation::Read)
        .map_err(|error| Failure::new(StatusCode::UNAUTHORIZED, error))?;
    let defaults = sandbox.defaults();
    let username = query.username.as_deref().unwrap_or(&defaults.user);
    let account = Account::by_name(username).map_err(|error| Failure::new(StatusCode::UNAUTHORIZED, error))?;
    let asked = query.path.as_deref().unwrap_or_default();
    path::resolve(asked, &account, defaults.directory.as_deref())
        .map_err(|error| Failure::bad_request(format!("error expanding and resolving path '{asked}': {error}")))
}

fn prepare(path: PathBuf, headers: &HeaderMap) -> Result<Response<Body>, Failure> {
    let shown = path.display();
    let found = fs::metadata(&path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Failure::new(StatusCode::NOT_FOUND, format!("path '{shown}' does not exist")),
        _ => Failure::internal(format!("error checking if path exists '{shown}': {error}")),
    })?;
    if found.is_dir() {
        return Err(Failure::bad_request(format!("path '{shown}' is a directory")));
    }
    let not_acceptable = |error: &str| Failure::new(StatusCode::NOT_ACCEPTABLE, error);
    let mut encoding = content_encoding::for_response(headers)
        .map_err(|error| not_acceptable(&format!("error parsing Accept-Encoding: {error}")))?;
    if range::is_special(headers) {
        if !content_encoding::takes_identity(headers) {
            return Err(not_acceptable("identity encoding not acceptable for Range or conditional request"));
        }
        encoding = Encoding::Identity;
    }
    let broken = |error: io::Error| Failure::internal(format!("error opening file '{shown}': {error}"));
    let mut file = File::open(&path).map_err(broken)?;
    if found.len() == 0 && encoding == Encoding::Gzip && is_empty(&mut file).map_err(broken)? {
        // Clients tell an empty file by its length, which a compressed body would hide.
        encoding = Encoding::Identity;
    }
    let mut response = match encoding {
        Encoding::Gzip => compressed(file, &path),
        Encoding::Identity => bare(file, &found, &path, headers).map_err(broken)?,
    };
    set(&mut response, header::VARY, "Accept-Encoding");
    set(&mut response, header::CONTENT_DISPOSITION, &disposition::inline(&path::base(&path)));
    Ok(response)
}

/// Some files (those of the kernel) tell no size and have content nevertheless.
fn is_empty(file: &mut File) -> io::Result<bool> {
    let nothing = file.read(&mut [0])? == 0;
    file.rewind()?;
    Ok(nothing)
}

fn compressed(file: File, path: &Path) -> Response<Body> {
    let file = BufReader::with_capacity(BLOCK, tokio::fs::File::from_std(file));
    let encoder = GzipEncoder::with_quality(file, Level::Fastest);
    let mut response = Response::new(Body::from_stream(ReaderStream::with_capacity(encoder, BLOCK)));
    set(&mut response, header::CONTENT_ENCODING, "gzip");
    set(&mut response, header::CONTENT_TYPE, &content_type::by_name_only(path));
    response
}

fn bare(mut file: File, found: &Metadata, path: &Path, headers: &HeaderMap) -> io::Result<Response<Body>> {
    let modified = found.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    let length = found.len();
    let (status, first, end) = match range::select(headers, length, modified) {
        Selection::Whole => (StatusCode::OK, 0, length),
        Selection::Part(first, end) => (StatusCode::PARTIAL_CONTENT, first, end),
        Selection::NotModified => (StatusCode::NOT_MODIFIED, 0, 0),
        Selection::PreconditionFailed => (StatusCode::PRECONDITION_FAILED, 0, 0),
        Selection::Unsatisfiable => (StatusCode::RANGE_NOT_SATISFIABLE, 0, 0),
    };
    let content_type = match content_type::by_name(path) {
        Some(name) => name,
        None => content_type::by_content(&beginning(&mut file)?),
    };
    file.seek(SeekFrom::Start(first))?;
    let part = tokio::fs::File::from_std(file).take(end - first);
    let mut response = Response::new(match end - first {
        0 => Body::empty(),
        _ => Body::from_stream(ReaderStream::with_capacity(part, BLOCK)),
    });
    *response.status_mut() = status;
    set(&mut response, header::LAST_MODIFIED, &httpdate::fmt_http_date(modified));
    match status {
        StatusCode::NOT_MODIFIED | StatusCode::PRECONDITION_FAILED => return Ok(response),
        StatusCode::PARTIAL_CONTENT => {
            set(&mut response, header::CONTENT_RANGE, &format!("bytes {first}-{}/{length}", end - 1));
        }
        StatusCode::RANGE_NOT_SATISFIABLE => set(&mut response, header::CONTENT_RANGE, &format!("bytes */{length}")),
        _ => {}
    }
    set(&mut response, header::ACCEPT_RANGES, "bytes");
    set(&mut response, header::CONTENT_TYPE, &content_type);
    set(&mut response, header::CONTENT_LENGTH, &(end - first).to_string());
    Ok(response)
}

fn beginning(file: &mut File) -> io::Result<Vec<u8>> {
    let mut sample = Vec::new();
    file.take(SAMPLE as u64).read_to_end(&mut sample)?;
    Ok(sample)
}

/// Sets a header whose value is ASCII by construction.
fn set(response: &mut Response<Body>, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}
