//! Bytes from anybody.

use bytes::Bytes;
use proptest::prelude::*;

use super::{
    ends::Feed,
    world::{EPOCH, KEYS, attached},
};
use crate::{decode::Decoder, wire::MessageHeader};

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_an_answer_and_not_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), as_host: bool) {
        let mut decoder = Decoder::default();
        decoder.push(Bytes::from(bytes.clone()));
        while let Ok(Some(_)) = decoder.next(Some(&KEYS.1)) {}
        let mut world = attached();
        let link = if as_host { &mut world.host } else { &mut world.sup };
        let _ = link.receive(world.now, bytes.into());
    }

    #[test]
    fn a_well_framed_message_of_nonsense_is_an_answer_and_not_a_panic(
        frames in prop::collection::vec((1_u8..0x14, 0_u8..3, 0_u32..3, prop::collection::vec(any::<u8>(), 0..40)), 0..6),
        offset in 0_u64..4,
        as_host: bool,
    ) {
        let mut body = Vec::new();
        for (kind, tag, command, payload) in &frames {
            body.push(*kind);
            body.push(*tag);
            body.extend_from_slice(&command.to_le_bytes());
            body.extend_from_slice(&(payload.len() as u32).to_le_bytes());
            body.extend_from_slice(payload);
        }
        let header = MessageHeader { body: body.len(), flags: 0, epoch: EPOCH, attachment: 1, offset };
        let mut world = attached();
        let link = if as_host { &mut world.host } else { &mut world.sup };
        let _ = link.receive(world.now, [&header.encode()[..], &body].concat().into());
        while link.poll_event().is_some() {}
        let _ = link.poll_transmit(world.now, &mut Feed::default());
    }
}
