//! Everything arrives, whatever is cut.

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicU64, Ordering},
};

use bytes::Bytes;

use super::{number, world::World};
use crate::{
    control,
    wire::{Channel, StreamId},
};

/// What was done to a schedule, and how often messages were packed.
#[derive(Clone, Copy, Debug, Default)]
struct Faults {
    cuts: u64,
    switches: u64,
    packed: u64,
}

/// One schedule: streams and control messages both ways, under cuts; everything must arrive once, in order.
fn run(seed: u64, cut_percent: u64) -> Faults {
    let mut world = World::unruly(seed);
    let (mut up, mut down) = (Vec::new(), Vec::new());
    let mut ahead = Vec::new();
    let streams = 1 + world.random.below(6) as u32;
    let mut lengths = BTreeMap::new();
    for command in 1..=streams {
        for (is_down, channel) in [(false, Channel::Stdin), (true, Channel::Stdout), (true, Channel::Stderr)] {
            let len = match world.random.below(4) {
                0 => 0,
                1 => world.random.below(100),
                2 => world.random.below(70_000),
                _ => world.random.below(300_000),
            };
            world.open(is_down, command, channel, len);
            lengths.insert(StreamId { command, channel }, len);
        }
    }
    let mut steps = 0;
    loop {
        steps += 1;
        assert!(steps < 200_000, "seed {seed}: no end in sight");
        if !world.connected && world.random.chance(20) {
            world.connect();
        } else if world.connected && steps < 3_000 && world.random.chance(cut_percent) {
            world.cut();
        } else if world.connected && steps < 3_000 && world.may_switch() {
            world.switch();
        }
        if up.len() < 20 && world.random.chance(20) {
            let number = up.len() as u64;
            let len = if world.random.chance(10) { 200_000 } else { world.random.below(50) as usize };
            let message = (number, serde_bytes::ByteBuf::from(vec![number as u8; len]));
            let command = world.random.below(5) as u32;
            world.host.send(command, &message);
            up.push((command, Bytes::from(control::encode(&message))));
            let stream = StreamId { command: 1 + number as u32 % streams, channel: Channel::Stdout };
            if world.random.chance(50) {
                let most = 1 + world.random.below(150_000) as usize;
                let before = world.sup.sent(stream);
                world.sup.send_ahead(stream, most, &mut world.sup_feed);
                assert!(world.sup.sent(stream).is_none_or(|sent| sent - before.unwrap() <= most as u64));
                ahead.extend(world.sup.sent(stream).map(|sent| (down.len(), stream, sent)));
            }
            let message = (number, 9_u8);
            world.sup.send(command, &message);
            down.push((command, Bytes::from(control::encode(&message))));
        }
        world.step();
        let ended = world.host_got.ended.len() + world.sup_got.ended.len();
        let told = world.host_got.control.len() + world.sup_got.control.len();
        if ended == lengths.len() && up.len() == 20 && told == 40 {
            break;
        }
    }
    for (stream, len) in lengths {
        let got = if stream.channel == Channel::Stdin { &world.sup_got } else { &world.host_got };
        assert_eq!(got.ended.get(&stream), Some(&len), "seed {seed}: {stream:?}");
    }
    assert_eq!(world.sup_got.control, up, "seed {seed}");
    assert_eq!(world.host_got.control, down, "seed {seed}");
    for (message, stream, sent) in ahead {
        let had = world.host_got.before[message].get(&stream).copied().unwrap_or_default();
        assert!(had >= sent, "seed {seed}: message {message} came after {had} bytes of {stream:?}, not {sent}");
    }
    Faults { cuts: world.cuts, switches: world.switches, packed: world.packed }
}

#[test]
fn everything_arrives_once_and_in_order_over_a_whole_connection() {
    for seed in 1..=20 {
        assert_eq!(run(seed, 0).cuts, 0);
    }
}

#[test]
fn everything_arrives_once_and_in_order_whatever_is_cut() {
    let schedules = number("DSH_LINK_SCHEDULES", 150);
    let first = number("DSH_LINK_SEED", 1);
    let next = AtomicU64::new(first);
    let work = || {
        let (mut sum, mut wrong) = (Faults::default(), Vec::new());
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + schedules {
                return (sum, wrong);
            }
            match catch_unwind(AssertUnwindSafe(|| run(seed, 1 + seed % 12))) {
                Ok(faults) => {
                    sum.cuts += faults.cuts;
                    sum.switches += faults.switches;
                    sum.packed += faults.packed;
                }
                Err(_) => wrong.push(seed),
            }
        }
    };
    let workers = if schedules > 1_000 { std::thread::available_parallelism().map_or(1, usize::from) } else { 1 };
    let results: Vec<_> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    let wrong: Vec<u64> = results.iter().flat_map(|(_, wrong)| wrong.iter().copied()).collect();
    assert!(wrong.is_empty(), "{} of {schedules} schedules went wrong, by these seeds: {wrong:?}", wrong.len());
    let sum = |of: fn(&Faults) -> u64| -> u64 { results.iter().map(|(faults, _)| of(faults)).sum() };
    let (cuts, switches, packed) = (sum(|sum| sum.cuts), sum(|sum| sum.switches), sum(|sum| sum.packed));
    assert!(cuts > schedules, "the schedules cut too little: {cuts}");
    assert!(packed > schedules, "too few messages were packed: {packed}");
    assert!(switches * 4 > schedules, "too few took another way up: {switches}");
}
