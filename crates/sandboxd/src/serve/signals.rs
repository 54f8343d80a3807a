//! When to end.

use std::io::{self, Read};

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// A token that fires at SIGTERM, SIGINT or SIGHUP and, if asked for, when standard input ends.
///
/// # Errors
/// When handlers cannot be installed.
pub fn shutdown(with_stdin: bool) -> io::Result<CancellationToken> {
    let token = CancellationToken::new();
    for kind in [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()] {
        let (mut arrived, token) = (signal(kind)?, token.clone());
        tokio::spawn(async move {
            arrived.recv().await;
            token.cancel();
        });
    }
    if with_stdin {
        let token = token.clone();
        // A thread of its own: the runtime would wait for a blocked read when it is shut down.
        std::thread::Builder::new().name("stdin".to_owned()).spawn(move || {
            let mut ignored = [0_u8; 256];
            while io::stdin().read(&mut ignored).is_ok_and(|count| count > 0) {}
            token.cancel();
        })?;
    }
    Ok(token)
}
