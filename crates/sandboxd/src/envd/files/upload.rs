//! `POST /files`.

use std::{io, pin::Pin, sync::Arc};

use async_compression::tokio::bufread::GzipDecoder;
use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderValue, Response, StatusCode, header::CONTENT_TYPE},
};
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, TryStreamExt as _, stream};
use tokio_util::io::{ReaderStream, StreamReader};

use super::{
    content_encoding::{self, Encoding},
    entry::Entry,
    failure::Failure,
    metadata_headers, multipart,
    query::Query,
    signature::{self, Operation},
    store::{Target, store},
};
use crate::envd::{account::Account, authentication::header_text, path, sandbox::Sandbox};

/// Memory for decompressed data on its way to the disk.
const BLOCK: usize = 128 << 10;

type Plain = Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>;

/// Stores the files of a request: a form, or one file as the bare body.
pub async fn upload(State(sandbox): State<Arc<Sandbox>>, request: Request) -> Response<Body> {
    let query = match Query::of(request.uri()) {
        Ok(query) => query,
        Err(response) => return *response,
    };
    match accept(sandbox, query, request).await.and_then(|entries| success(&entries)) {
        Ok(response) => response,
        Err(failure) => failure.into_response(),
    }
}

async fn accept(sandbox: Arc<Sandbox>, query: Query, request: Request) -> Result<Vec<Entry>, Failure> {
    let headers = request.headers();
    signature::authorize(sandbox.token().as_deref(), headers, &query, Operation::Write)
        .map_err(|error| Failure::new(StatusCode::UNAUTHORIZED, error))?;
    let encoding = content_encoding::of_body(headers)
        .map_err(|error| Failure::bad_request(format!("error decompressing request body: {error}")))?;
    let content_type = header_text(headers, CONTENT_TYPE.as_str()).to_owned();
    let username = query.username.clone().unwrap_or_else(|| sandbox.defaults().user);
    let account = Account::by_name(&username).map_err(|error| Failure::new(StatusCode::UNAUTHORIZED, error))?;
    let metadata = metadata_headers::metadata(headers)
        .map_err(|error| Failure::bad_request(format!("invalid metadata: {error}")))?;
    let target = Target { sandbox, account, metadata };
    let body = plain(encoding, request.into_body()).await?;

    let media_type = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match media_type.as_str() {
        "application/octet-stream" => store_bare(target, query.path.as_deref(), body).await,
        other if other.starts_with("multipart/") => {
            multipart::store_form(target, &content_type, query.path.as_deref(), body).await
        }
        _ => Err(Failure::bad_request(format!(
            "unsupported content type: {content_type}, expected multipart/form-data or application/octet-stream"
        ))),
    }
}

async fn store_bare(target: Target, asked: Option<&str>, body: Plain) -> Result<Vec<Entry>, Failure> {
    let asked = asked.ok_or_else(|| Failure::bad_request("path query parameter is required for raw body upload"))?;
    let default = target.sandbox.defaults().directory;
    let file = path::resolve(asked, &target.account, default.as_deref())
        .map_err(|error| Failure::bad_request(format!("error resolving path: {error}")))?;
    store(target, file.clone(), body).await?;
    Ok(vec![Entry::of(&file)])
}

/// The body without its encoding.
///
/// # Errors
/// 400 when it isn't of the encoding that it claims, as far as its beginning tells.
async fn plain(encoding: Encoding, body: Body) -> Result<Plain, Failure> {
    let raw = body.into_data_stream().map_err(io::Error::other);
    match encoding {
        Encoding::Identity => Ok(Box::pin(raw)),
        Encoding::Gzip => {
            let mut decoder = GzipDecoder::new(StreamReader::new(raw));
            decoder.multiple_members(true);
            let mut decoded = ReaderStream::with_capacity(decoder, BLOCK);
            let first = decoded.next().await.transpose().map_err(|error| {
                Failure::bad_request(format!("error decompressing request body: failed to create gzip reader: {error}"))
            })?;
            Ok(Box::pin(stream::iter(first.map(Ok)).chain(decoded)))
        }
    }
}

/// The real daemon doesn't say that this is JSON; clients parse it nevertheless.
fn success(entries: &[Entry]) -> Result<Response<Body>, Failure> {
    let text = serde_json::to_string(entries).map_err(Failure::internal)?;
    let mut response = Response::new(Body::from(text));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    Ok(response)
}
