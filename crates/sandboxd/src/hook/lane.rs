//! One direction of a connection under faults: bytes wait for their time and their share of the rate.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf, Bytes};
use tokio::time::{Instant, Sleep};

/// Bytes that may wait in one direction. More than a fast line holds in a long delay, so that a delay does not become a
/// limit of the rate.
pub const CAPACITY: usize = 64 << 20;

/// The grain of a limited rate: what is let through at once.
const SLICE: Duration = Duration::from_millis(10);

/// How much lateness of timers is made up for.
const SLACK: Duration = Duration::from_millis(20);

/// Bytes in order, each piece with the time at which it is due.
#[derive(Debug, Default)]
pub struct Lane {
    queue: VecDeque<(Instant, Bytes)>,
    held: usize,
    /// When the rate allows the next bytes.
    free: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Lane {
    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Whether no more should be added now.
    pub fn is_full(&self) -> bool {
        self.held >= CAPACITY
    }

    /// Adds bytes that are due after `delay`.
    pub fn push(&mut self, bytes: Bytes, delay: Duration) {
        self.held += bytes.len();
        self.queue.push_back((Instant::now() + delay, bytes));
    }

    /// The bytes that may pass now, at least one; pending while none may, [`Poll::Ready`] with `None` when none wait.
    /// `rate` is in bytes a second.
    pub fn poll_front(&mut self, cx: &mut Context<'_>, rate: Option<u64>) -> Poll<Option<&[u8]>> {
        let Some((due, _)) = self.queue.front() else { return Poll::Ready(None) };
        let due = *due;
        let due = match (rate, self.free) {
            (Some(_), Some(free)) => due.max(free),
            _ => due,
        };
        if due > Instant::now() {
            let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(due)));
            if timer.deadline() != due {
                timer.as_mut().reset(due);
            }
            if timer.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
        let front = self.queue.front().map(|(_, bytes)| &bytes[..bytes.len().min(slice(rate))]);
        Poll::Ready(front)
    }

    /// Takes `count` bytes off the front, which [`Lane::poll_front`] has offered.
    pub fn consume(&mut self, count: usize, rate: Option<u64>) {
        if let Some((_, bytes)) = self.queue.front_mut() {
            bytes.advance(count);
            if bytes.is_empty() {
                self.queue.pop_front();
            }
        }
        self.held -= count;
        self.free = rate.map(|rate| {
            let now = Instant::now();
            let earliest = now.checked_sub(SLACK).unwrap_or(now);
            let start = self.free.map_or(now, |free| free.max(earliest));
            #[allow(clippy::cast_precision_loss, reason = "a rate needs no more precision")]
            let seconds = count as f64 / rate.max(1) as f64;
            start + Duration::from_secs_f64(seconds)
        });
    }
}

/// How many bytes pass at once under a rate.
fn slice(rate: Option<u64>) -> usize {
    let Some(rate) = rate else { return usize::MAX };
    let bytes = u128::from(rate) * SLICE.as_millis() / 1000;
    usize::try_from(bytes).unwrap_or(usize::MAX).max(1)
}
