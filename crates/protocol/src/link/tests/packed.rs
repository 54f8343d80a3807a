//! What packs now and does not pack then, on a line that is slower than its ends.

use std::{collections::VecDeque, time::Duration};

use bytes::Bytes;

use super::{
    ends::{Feed, Random},
    world::attached,
};
use crate::{
    link::{Filled, Source},
    time::Time,
    wire::{Channel, StreamId},
};

/// An endless stream of blocks of zeros and of noise in turns; of noise alone when blocks are 0 bytes long.
struct Blocks {
    at: usize,
    block: usize,
    random: Random,
}

impl Source for Blocks {
    fn read(&mut self, _: StreamId, max: usize, out: &mut Vec<u8>) -> Filled {
        let zeros = self.block > 0 && (self.at / self.block).is_multiple_of(2);
        let size = if self.block > 0 { max.min(self.block - self.at % self.block) } else { max };
        let end = out.len() + size;
        out.resize(end, 0);
        if !zeros {
            for word in out[end - size..].chunks_mut(8) {
                word.copy_from_slice(&self.random.next().to_le_bytes()[..word.len()]);
            }
        }
        self.at += size;
        Filled::More
    }
}

/// How long a short answer would wait at worst behind a stream of blocks, over a line of `rate` bytes a second.
fn worst_queue(rate: u64, delay: Duration, block: usize) -> Duration {
    let mut world = attached();
    let stream = StreamId { command: 1, channel: Channel::Stdout };
    world.sup.open_outgoing(stream, 0);
    world.sup.schedule.credit(stream, u64::MAX);
    world.sup.ready(stream);
    let mut source = Blocks { at: 0, block, random: Random(7) };
    let (mut down, mut up) = (VecDeque::<(Time, Bytes)>::new(), VecDeque::<(Time, Bytes)>::new());
    let (start, mut now) = (world.now, world.now);
    let (mut free, mut worst) = (now, Duration::ZERO);
    while now.since(start) < Duration::from_secs(20) {
        while let Some(message) = world.sup.poll_transmit(now, &mut source) {
            free = free.max(now) + Duration::from_micros(message.len() as u64 * 1_000_000 / rate);
            down.push_back((free + delay, message.to_bytes()));
            // The rate is known by then.
            if now.since(start) > Duration::from_secs(5) {
                worst = worst.max(free.since(now));
            }
        }
        now = now + Duration::from_micros(500);
        while down.front().is_some_and(|(at, _)| *at <= now) {
            let (_, bytes) = down.pop_front().unwrap();
            world.host.receive(now, bytes).unwrap();
        }
        world.host.handle_timeout(now);
        while let Some(message) = world.host.poll_transmit(now, &mut Feed::default()) {
            up.push_back((now + delay, message.to_bytes()));
        }
        while up.front().is_some_and(|(at, _)| *at <= now) {
            let (_, bytes) = up.pop_front().unwrap();
            world.sup.receive(now, bytes).unwrap();
        }
    }
    worst
}

#[test]
fn a_stream_that_stops_shrinking_does_not_flood_a_slow_line() {
    for (rate, block) in [(100 << 10, 512 << 10), (1 << 20, 512 << 10), (10 << 20, 1 << 20)] {
        let delay = Duration::from_millis(25);
        let (plain, mixed) = (worst_queue(rate, delay, 0), worst_queue(rate, delay, block));
        assert!(mixed <= plain * 2, "{rate} bytes a second: {mixed:?} behind blocks, {plain:?} behind noise");
    }
}

#[test]
fn memory_that_a_burst_used_is_given_back_soon_after_it() {
    let mut world = attached();
    world.sup.flight.set_floor(8 << 20);
    let stream = StreamId { command: 2, channel: Channel::Stdout };
    world.open(true, 2, Channel::Stdout, 20 << 20);
    while world.host_got.ended.is_empty() {
        world.step();
    }
    assert_eq!(world.host_got.ended[&stream], 20 << 20);
    assert!(world.sup.flight.spare() > 0 && world.host.decoder.kept() > 0, "nothing was kept that could be given back");
    let due = world.sup.poll_timeout().unwrap();
    assert!(due.since(world.now) <= Duration::from_secs(1), "{:?}", due.since(world.now));
    // As each driver does: when it is due, pings or not.
    let start = world.now;
    while world.now.since(start) < Duration::from_millis(1_500) {
        world.step();
    }
    assert_eq!((world.sup.flight.spare(), world.sup.scratch.capacity(), world.host.decoder.kept()), (0, 0, 0));
}
