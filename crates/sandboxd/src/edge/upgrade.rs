//! Connections that stop speaking HTTP, such as web sockets of a user's port.

use std::sync::Arc;

use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;

use super::upstream::Upstream;
use crate::hook::Link;
use crate::sandboxes::streams::Entered;

/// Joins both ends once both have agreed, until either ends or the connection is cut.
pub fn join(client: OnUpgrade, sandbox: OnUpgrade, link: Arc<Link>, entered: Entered, upstream: Upstream) {
    tokio::spawn(async move {
        let (client, sandbox) = match tokio::try_join!(client, sandbox) {
            Ok(both) => both,
            Err(error) => return tracing::debug!(%error, "upgrade failed"),
        };
        let (mut client, mut sandbox) = (TokioIo::new(client), TokioIo::new(sandbox));
        tokio::select! {
            ended = tokio::io::copy_bidirectional(&mut client, &mut sandbox) => if let Err(error) = ended {
                tracing::debug!(%error, "upgraded connection ended");
            },
            () = link.over() => {}
        }
        drop((entered, upstream));
    });
}
