//! Silence and heartbeats.

use std::time::Duration;

use bytes::Bytes;

use super::{ends::Feed, world::attached};
use crate::link::Event;

#[test]
fn silence_is_noticed_within_its_bound_and_a_long_sleep_is_not_silence() {
    let mut world = attached();
    let start = world.now;
    let mut now = start;
    // Asleep for an hour: one tick.
    now = now + Duration::from_secs(3600);
    world.host.handle_timeout(now);
    assert_eq!(world.host.poll_event(), None);
    world.host.receive(now, Bytes::new()).unwrap();
    let awake = now;
    loop {
        now = world.host.poll_timeout().unwrap();
        world.host.handle_timeout(now);
        while world.host.poll_transmit(now, &mut Feed::default()).is_some() {}
        if world.host.poll_event() == Some(Event::Silent) {
            break;
        }
    }
    let noticed = now.since(awake);
    assert!(noticed >= Duration::from_secs(15) && noticed <= Duration::from_secs(16), "{noticed:?}");
}

#[test]
fn an_idle_link_only_pings() {
    let mut world = attached();
    let (mut up, mut down) = (0, 0);
    for _ in 0..60 {
        world.now = world.now + Duration::from_secs(1);
        world.host.handle_timeout(world.now);
        world.sup.handle_timeout(world.now);
        while let Some(message) = world.host.poll_transmit(world.now, &mut Feed::default()) {
            up += 1;
            world.sup.receive(world.now, message.to_bytes()).unwrap();
        }
        while let Some(message) = world.sup.poll_transmit(world.now, &mut Feed::default()) {
            down += 1;
            world.host.receive(world.now, message.to_bytes()).unwrap();
        }
    }
    assert!((11..=14).contains(&up) && (11..=14).contains(&down), "{up} up, {down} down in a minute");
}
