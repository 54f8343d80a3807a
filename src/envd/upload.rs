//! `POST /files`: a file into the sandbox. The server writes it in place, with mode 0644.

use bytes::Bytes;
use http::{HeaderValue, header};
use reqwest::multipart::{Form, Part};

use super::{
    client::Envd,
    connect,
    error::{Cause, Error},
    http::{describe, join, read_body},
    version::Version,
};

/// An answer is not read further than this; only an error says something.
const MAX_ERROR_BODY: usize = 64 << 10;

/// A file's content, in the form in which it travels.
#[derive(Clone, Debug)]
pub enum Upload {
    /// The body itself, compressed by gzip; stored uncompressed.
    Gzip(Bytes),
    /// Uncompressed in a form: for servers older than 0.5.7 and for small ones.
    Form(Bytes),
}

impl Envd {
    /// Whether the daemon, by its version, takes compressed bodies. An unknown version does.
    pub fn takes_gzip(&self) -> bool {
        Version::parse(&self.facts().envd_version).is_none_or(|version| version >= Version(0, 5, 7))
    }

    /// Writes a file, owned by the sandbox' user where the server knows him. Makes missing directories. A reader may see it grow; after
    /// an error a part of it may be there.
    ///
    /// # Errors
    /// [`Error`]; [`Error::Invalid`] or [`Error::Unsupported`] when the server does not take this form, [`Error::Storage`] when its disk takes
    /// no file there.
    pub async fn upload(&self, path: &str, upload: Upload) -> Result<(), Error> {
        let user = self.facts().upload_user();
        self.in_time("uploading a file", async {
            match self.post_file(path, Some(user), upload.clone()).await {
                // That is also how a server says that it has no such user; the daemon's own user can be read as well.
                Err(Error::Unauthorized(_)) if self.facts().user.is_none() => self.post_file(path, None, upload).await,
                other => other,
            }
        })
        .await
    }

    async fn post_file(&self, path: &str, user: Option<&str>, upload: Upload) -> Result<(), Error> {
        let mut url = join(self.base(), "/files");
        url.query_pairs_mut().append_pair("path", path);
        if let Some(user) = user {
            url.query_pairs_mut().append_pair("username", user);
        }
        let mut headers = self.headers();
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        let request = self.lanes().calls.post(url);
        let request = match upload {
            Upload::Gzip(body) => {
                headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
                headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
                request.body(body)
            }
            Upload::Form(body) => {
                request.multipart(Form::new().part("file", Part::stream(body).file_name(path.to_owned())))
            }
        };
        let answer = request.headers(headers).send().await.map_err(|error| self.transport(&error))?;
        let status = answer.status();
        let text = read_body(answer, MAX_ERROR_BODY).await.map_err(|error| self.transport(&error))?;
        if status.is_success() {
            return Ok(());
        }
        match connect::of_storage(status, &text) {
            Some(message) => Err(self.error(Error::Storage(message))),
            None => Err(self.error(connect::of_http_error(status, &text))),
        }
    }

    fn transport(&self, error: &reqwest::Error) -> Error {
        self.error(Cause::Transport { unsent: error.is_connect() }.status(tonic::Code::Unavailable, describe(error)))
    }
}
