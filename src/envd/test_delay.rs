//! A TCP proxy for tests that makes a line longer, not narrower.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    time::{Instant, sleep_until},
};

/// Forwards to `target` with half of `round_trip` each way; the address. Making a connection costs nothing, as the proxy accepts it itself.
pub(crate) async fn delayed(target: String, round_trip: Duration) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((near, _)) = listener.accept().await {
            let Ok(far) = TcpStream::connect(&target).await else { continue };
            near.set_nodelay(true).unwrap();
            far.set_nodelay(true).unwrap();
            let ((near_read, near_write), (far_read, far_write)) = (near.into_split(), far.into_split());
            tokio::spawn(pump(near_read, far_write, round_trip / 2));
            tokio::spawn(pump(far_read, near_write, round_trip / 2));
        }
    });
    address
}

async fn pump(mut from: tokio::net::tcp::OwnedReadHalf, mut to: tokio::net::tcp::OwnedWriteHalf, delay: Duration) {
    let (sender, mut queue) = mpsc::unbounded_channel::<(Instant, Vec<u8>)>();
    tokio::spawn(async move {
        loop {
            let mut bytes = Vec::with_capacity(64 << 10);
            match from.read_buf(&mut bytes).await {
                Ok(1..) if sender.send((Instant::now() + delay, bytes)).is_ok() => {}
                _ => return,
            }
        }
    });
    while let Some((due, bytes)) = queue.recv().await {
        sleep_until(due).await;
        if to.write_all(&bytes).await.is_err() {
            return;
        }
    }
}
