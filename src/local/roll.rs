//! What the guard knows of the sessions, and what it is still to be told.
//!
//! A guard that does not listen for a while (stopped, starved) makes nobody wait: what it missed is told as it is by then, not as it came.
//! So what is kept is bounded by the sessions that live and those that it knows, however many began and ended meanwhile.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    io,
};

/// As one guard after another is told of it.
#[derive(Debug, Default)]
pub struct Roll {
    /// With the moment of their beginning.
    living: HashMap<i32, u64>,
    /// Told of, and not of their end.
    known: HashSet<i32>,
    untold: BTreeSet<i32>,
}

impl Roll {
    /// A session has begun by `moment`, after which whoever has its number in its place starts. One that had its number may be known
    /// still: its end is told by this beginning.
    pub fn begins(&mut self, session: i32, moment: u64) {
        self.living.insert(session, moment);
        self.untold.insert(session);
    }

    /// A session has ended.
    pub fn ends(&mut self, session: i32) {
        if self.living.remove(&session).is_none() {
            return;
        }
        if self.known.contains(&session) {
            self.untold.insert(session);
        } else {
            self.untold.remove(&session);
        }
    }

    /// There is a new guard, which knows nothing.
    pub fn is_new(&mut self) {
        self.known.clear();
        self.untold = self.living.keys().copied().collect();
    }

    /// Tells what is untold by `send`, which takes a record or fails.
    ///
    /// # Errors
    /// The first of `send`; what it did not take is still untold.
    pub fn tell(&mut self, mut send: impl FnMut([u8; 16]) -> io::Result<()>) -> io::Result<()> {
        while let Some(&session) = self.untold.first() {
            let began = self.living.get(&session).copied();
            send(record(session, began))?;
            self.untold.remove(&session);
            if began.is_some() {
                self.known.insert(session);
            } else {
                self.known.remove(&session);
            }
        }
        Ok(())
    }
}

/// As `crates/supervisor/src/guard.rs` reads it.
fn record(session: i32, began: Option<u64>) -> [u8; 16] {
    let mut record = [0; 16];
    record[..4].copy_from_slice(&session.to_ne_bytes());
    record[4..8].copy_from_slice(&u32::from(began.is_some()).to_ne_bytes());
    record[8..].copy_from_slice(&began.unwrap_or_default().to_ne_bytes());
    record
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed test may panic")]
    use super::*;

    /// What a guard with room for `room` records hears.
    fn heard(roll: &mut Roll, room: usize) -> Vec<(i32, bool)> {
        let mut heard = Vec::new();
        let told = roll.tell(|record| {
            if heard.len() == room {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            let [a, b, c, d, lives, _, _, _, moment @ ..] = record;
            let lives = lives == u8::from(cfg!(target_endian = "little"));
            assert_eq!(u64::from_ne_bytes(moment), if lives { 5 } else { 0 });
            heard.push((i32::from_ne_bytes([a, b, c, d]), lives));
            Ok(())
        });
        assert_eq!(told.is_err(), heard.len() == room && !roll.untold.is_empty());
        heard
    }

    #[test]
    fn c75_a_guard_that_lagged_is_told_what_is_so_by_then() {
        let mut roll = Roll::default();
        roll.begins(10, 5);
        roll.begins(11, 5);
        assert_eq!(heard(&mut roll, 9), [(10, true), (11, true)]);
        // All that is missed.
        for session in 100..1100 {
            roll.begins(session, 5);
            roll.ends(session);
        }
        roll.ends(10);
        roll.begins(12, 5);
        roll.ends(11);
        roll.begins(11, 5);
        assert_eq!(roll.untold.len(), 3);
        assert_eq!(heard(&mut roll, 1), [(10, false)]);
        assert_eq!(heard(&mut roll, 9), [(11, true), (12, true)]);
        assert_eq!(heard(&mut roll, 9), []);
    }

    #[test]
    fn c75_a_new_guard_is_told_of_everything_that_lives() {
        let mut roll = Roll::default();
        for session in 10..13 {
            roll.begins(session, 5);
        }
        assert_eq!(heard(&mut roll, 2), [(10, true), (11, true)]);
        roll.ends(10);
        roll.ends(99);
        roll.is_new();
        assert_eq!(heard(&mut roll, 9), [(11, true), (12, true)]);
    }
}
