//! A response body on its way from a sandbox to its client.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio_util::sync::WaitForCancellationFutureOwned;

use super::answer::BoxError;
use super::upstream::Upstream;
use crate::sandboxes::streams::Entered;

/// Passes frames on, uncopied. As long as it lives, the request counts as open and its connection into the sandbox lives.
pub struct Relay {
    body: Incoming,
    entered: Entered,
    cancelled: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
    _upstream: Upstream,
}

impl Relay {
    /// The rest of a response.
    pub fn new(body: Incoming, entered: Entered, upstream: Upstream) -> Self {
        let cancelled = entered.cancelled().map(|token| Box::pin(token.clone().cancelled_owned()));
        Self { body, entered, cancelled, _upstream: upstream }
    }
}

impl Body for Relay {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if self.cancelled.as_mut().is_some_and(|cancelled| cancelled.as_mut().poll(cx).is_ready()) {
            return Poll::Ready(Some(Err("the sandbox has stopped".into())));
        }
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        if let Poll::Ready(Some(Err(error))) = frame {
            self.entered.broken();
            return Poll::Ready(Some(Err(error.into())));
        }
        frame.map_err(BoxError::from)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
