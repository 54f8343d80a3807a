//! Uploads as a form: any number of parts named `file`.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::StatusCode;
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use multer::{Field, Multipart};

use super::{
    disposition,
    entry::Entry,
    failure::Failure,
    store::{Target, store},
};
use crate::envd::path;

/// Stores the files of a form, in order. Their path is that of the query, else each part's whole
/// filename. Other parts are ignored. A failure leaves the files before it.
///
/// # Errors
/// 400 for a part without filename when there is no path, or a second part for one path; 500 for a
/// broken form; and those of storing.
pub async fn store_form<E>(
    target: Target,
    content_type: &str,
    query_path: Option<&str>,
    body: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
) -> Result<Vec<Entry>, Failure>
where
    E: Into<Box<dyn std::error::Error + Send + Sync>> + 'static,
{
    let boundary = disposition::parameters(content_type).remove("boundary").ok_or_else(|| {
        Failure::internal("error parsing multipart form: no multipart boundary param in Content-Type")
    })?;
    let whole = Arc::new(Mutex::new(Box::pin(body)));
    let body = || {
        let whole = Arc::clone(&whole);
        stream::poll_fn(move |context| whole.lock().unwrap_or_else(PoisonError::into_inner).as_mut().poll_next(context))
    };
    let mut form = Multipart::new(body(), boundary);
    let mut entries: Vec<Entry> = Vec::new();
    while let Some(part) =
        form.next_field().await.map_err(|error| Failure::internal(format!("error reading form: {error}")))?
    {
        let parameters = part_parameters(&part);
        if parameters.get("name").map(String::as_str) != Some("file") {
            continue;
        }
        let asked = query_path.or(parameters.get("filename").map(String::as_str)).ok_or_else(|| {
            Failure::bad_request(
                "error getting multipart custom part file name: filename not found in Content-Disposition header",
            )
        })?;
        let file = destination(&target, asked, &entries)?;
        store(target.clone(), file.clone(), part).await?;
        entries.push(Entry::of(&file));
    }
    drop(form);
    // Something follows the last boundary, if only the end of a chunked body: left unread, the connection would be reset
    // under whoever still writes it.
    body().for_each(|_| std::future::ready(())).await;
    Ok(entries)
}

fn part_parameters(part: &Field<'_>) -> std::collections::HashMap<String, String> {
    let header = part.headers().get("content-disposition");
    // Filenames are raw UTF-8, which header values may hold but not as text.
    header.map(|value| disposition::parameters(&String::from_utf8_lossy(value.as_bytes()))).unwrap_or_default()
}

fn destination(target: &Target, asked: &str, before: &[Entry]) -> Result<PathBuf, Failure> {
    let default = target.sandbox.defaults().directory;
    let file = path::resolve(asked, &target.account, default.as_deref())
        .map_err(|error| Failure::bad_request(format!("error resolving path: {error}")))?;
    if before.iter().any(|entry| entry.path == file.to_string_lossy()) {
        return Err(Failure::new(
            StatusCode::BAD_REQUEST,
            format!(
                "you cannot upload multiple files to the same path '{}' in one upload request, \
                 only the first specified file was uploaded",
                file.display()
            ),
        ));
    }
    Ok(file)
}
