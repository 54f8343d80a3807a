//! A client's connection that does to bytes what its plan says.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::Link;
use super::faults::{Direction, Faults};
use super::lane::Lane;
use super::links::Registration;

/// How much is read ahead at once under a plan.
const READ: usize = 256 << 10;

/// A TCP connection under a plan of faults. Without one it passes everything straight on.
///
/// Dropping it closes the connection: with a reset if the [`Link`] says so.
#[derive(Debug)]
pub struct FaultStream {
    io: TcpStream,
    link: Arc<Link>,
    _registration: Registration,
    up: Lane,
    down: Lane,
    /// The client has sent its last byte (or its connection broke), after what waits in `up`.
    ended: bool,
    scratch: Vec<u8>,
}

impl FaultStream {
    /// Wraps a connection. It stays registered as long as this lives, whatever protocol it changes to.
    pub fn new(io: TcpStream, registration: Registration) -> Self {
        let link = Arc::clone(&registration.link);
        Self {
            io,
            link,
            _registration: registration,
            up: Lane::default(),
            down: Lane::default(),
            ended: false,
            scratch: Vec::new(),
        }
    }

    /// How many more bytes may pass until the plan cuts.
    fn allowance(&self, faults: &Faults) -> usize {
        let Some(limit) = faults.cut.and_then(|cut| cut.every_bytes) else { return usize::MAX };
        let passed = self.link.up.load(Ordering::Relaxed) + self.link.down.load(Ordering::Relaxed);
        usize::try_from(limit.saturating_sub(passed)).unwrap_or(usize::MAX)
    }

    fn broken(&self, faults: &Faults) -> io::Error {
        self.link.cut(faults.cut.map(|cut| cut.how).unwrap_or_default());
        io::ErrorKind::ConnectionReset.into()
    }

    /// Takes from the socket whatever there is, stamped with its time.
    fn read_ahead(&mut self, cx: &mut Context<'_>, faults: &Faults) -> io::Result<()> {
        self.scratch.resize(READ, 0);
        while !self.ended && !self.up.is_full() {
            let mut buffer = ReadBuf::new(&mut self.scratch);
            match Pin::new(&mut self.io).poll_read(cx, &mut buffer) {
                Poll::Pending => break,
                Poll::Ready(Err(error)) if self.up.is_empty() => return Err(error),
                Poll::Ready(Err(_)) => self.ended = true,
                Poll::Ready(Ok(())) if buffer.filled().is_empty() => self.ended = true,
                Poll::Ready(Ok(())) => self.up.push(Bytes::copy_from_slice(buffer.filled()), faults.delay()),
            }
        }
        Ok(())
    }

    fn poll_read_late(&mut self, cx: &mut Context<'_>, out: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        // Before the look at the plan, or a change in between would wake nobody.
        self.link.reader.register(cx.waker());
        let faults = self.link.faults();
        if faults.stalls(Direction::Up) {
            return Poll::Pending;
        }
        self.read_ahead(cx, &faults)?;
        let allowed = self.allowance(&faults);
        if allowed == 0 {
            return Poll::Ready(Err(self.broken(&faults)));
        }
        let rate = faults.rate(Direction::Up);
        match ready!(self.up.poll_front(cx, rate)) {
            Some(bytes) => {
                let count = bytes.len().min(out.remaining()).min(allowed);
                out.put_slice(&bytes[..count]);
                self.up.consume(count, rate);
                self.link.up.fetch_add(count as u64, Ordering::Relaxed);
                Poll::Ready(Ok(()))
            }
            None if self.ended => Poll::Ready(Ok(())),
            // The socket has our waker.
            None => Poll::Pending,
        }
    }

    /// Sends what is due; ready when nothing waits.
    fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            self.link.writer.register(cx.waker());
            let faults = self.link.faults();
            if faults.stalls(Direction::Down) {
                return Poll::Pending;
            }
            let allowed = self.allowance(&faults);
            if allowed == 0 {
                return Poll::Ready(Err(self.broken(&faults)));
            }
            let rate = faults.rate(Direction::Down);
            let Some(bytes) = ready!(self.down.poll_front(cx, rate)) else { return Poll::Ready(Ok(())) };
            let bytes = &bytes[..bytes.len().min(allowed)];
            let count = ready!(Pin::new(&mut self.io).poll_write(cx, bytes))?;
            self.down.consume(count, rate);
            self.link.down.fetch_add(count as u64, Ordering::Relaxed);
        }
    }

    fn poll_write_late(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.down.is_full() {
            // Either it made room or an event will.
            if let Poll::Ready(Err(error)) = self.poll_drain(cx) {
                return Poll::Ready(Err(error));
            }
            if self.down.is_full() {
                return Poll::Pending;
            }
        }
        let delay = self.link.faults().delay();
        self.down.push(Bytes::copy_from_slice(bytes), delay);
        if let Poll::Ready(Err(error)) = self.poll_drain(cx) {
            return Poll::Ready(Err(error));
        }
        Poll::Ready(Ok(bytes.len()))
    }

    /// Whether bytes of the client can pass straight on.
    fn reads_plainly(&self) -> bool {
        !self.link.touched() && self.up.is_empty() && !self.ended
    }

    /// Whether bytes to the client can pass straight on.
    fn writes_plainly(&self) -> bool {
        !self.link.touched() && self.down.is_empty()
    }

    fn sent(&self, result: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(count)) = &result {
            self.link.down.fetch_add(*count as u64, Ordering::Relaxed);
        }
        result
    }
}

impl AsyncRead for FaultStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, out: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.link.is_cut() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        if !self.reads_plainly() {
            return self.poll_read_late(cx, out);
        }
        let before = out.filled().len();
        let result = Pin::new(&mut self.io).poll_read(cx, out);
        self.link.up.fetch_add((out.filled().len() - before) as u64, Ordering::Relaxed);
        result
    }
}

impl AsyncWrite for FaultStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.link.is_cut() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        if !self.writes_plainly() {
            return self.poll_write_late(cx, bytes);
        }
        let result = Pin::new(&mut self.io).poll_write(cx, bytes);
        self.sent(result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.link.is_cut() || !self.writes_plainly() {
            let first = parts.iter().find(|part| !part.is_empty()).map_or(&[][..], |part| &**part);
            return self.poll_write(cx, first);
        }
        let result = Pin::new(&mut self.io).poll_write_vectored(cx, parts);
        self.sent(result)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.down.is_empty() {
            ready!(self.poll_drain(cx))?;
        }
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // An orderly end before the reset would be taken for a complete answer.
        if self.link.resets() {
            return Poll::Ready(Ok(()));
        }
        if !self.down.is_empty() {
            ready!(self.poll_drain(cx))?;
        }
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

impl Drop for FaultStream {
    fn drop(&mut self) {
        if self.link.resets() {
            // Closing without lingering resets (socket(7)). Failing leaves an orderly end.
            let _ = rustix::net::sockopt::set_socket_linger(&self.io, Some(std::time::Duration::ZERO));
        }
    }
}
