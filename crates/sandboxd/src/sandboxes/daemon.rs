//! The service's own requests to the daemon in a box.

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};

use super::{Error, Spec};
use crate::boxes::{Boxed, accounts};

/// Tells a fresh daemon its token, variables and account.
///
/// # Errors
/// [`Error::Daemon`] when it does not answer 204.
pub async fn init(boxed: &Boxed, token: Option<&str>, spec: &Spec, user: Option<&str>) -> Result<(), Error> {
    let mut body = json!({
        "envVars": spec.env,
        "timestamp": chrono::Utc::now().to_rfc3339(),
    });
    if let Some(token) = token {
        body["accessToken"] = token.into();
    }
    if let Some(user) = user {
        body["defaultUser"] = user.into();
    }
    let (status, text) = call(boxed, Method::POST, "/init", None, Some(&body)).await?;
    if status == StatusCode::NO_CONTENT {
        return Ok(());
    }
    Err(Error::Daemon(format!("init: {status} {}", String::from_utf8_lossy(&text))))
}

/// The account that requests without one run as, for a box of this service.
pub fn user(isolation: crate::boxes::Isolation) -> Option<&'static str> {
    (isolation != crate::boxes::Isolation::Off).then_some(accounts::USER)
}

/// A sample of the daemon's own figures, as it gives them.
///
/// # Errors
/// [`Error::Daemon`] when it does not answer 200 with JSON.
pub async fn metrics(boxed: &Boxed, token: Option<&str>) -> Result<Value, Error> {
    let (status, text) = call(boxed, Method::GET, "/metrics", token, None).await?;
    if status != StatusCode::OK {
        return Err(Error::Daemon(format!("metrics: {status}")));
    }
    serde_json::from_slice(&text).map_err(|error| Error::Daemon(error.to_string()))
}

async fn call(
    boxed: &Boxed,
    method: Method,
    path: &str,
    token: Option<&str>,
    body: Option<&Value>,
) -> Result<(StatusCode, Bytes), Error> {
    let words = |error: &dyn std::fmt::Display| Error::Daemon(error.to_string());
    let io = boxed.dial().await.map_err(|error| words(&error))?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(io)).await.map_err(|error| words(&error))?;
    let mut request = Request::builder().method(method).uri(path).header(http::header::HOST, "localhost");
    if let Some(token) = token {
        request = request.header("x-access-token", token);
    }
    if body.is_some() {
        request = request.header(http::header::CONTENT_TYPE, "application/json");
    }
    let bytes = body.map(|body| Bytes::from(body.to_string())).unwrap_or_default();
    let request = request.body(Full::new(bytes)).map_err(|error| words(&error))?;
    let exchange = async {
        let response = sender.send_request(request).await?;
        let status = response.status();
        let text = response.into_body().collect().await?.to_bytes();
        Ok::<_, hyper::Error>((status, text))
    };
    let mut exchange = std::pin::pin!(exchange);
    // The connection has to be driven beside the exchange, and may end first.
    tokio::select! {
        answer = &mut exchange => answer,
        _ = connection => exchange.await,
    }
    .map_err(|error| words(&error))
}
