//! An answer that JavaScript waits for, once.

use std::sync::{Arc, Mutex, PoisonError};

use super::wake::{Wakes, changed};

/// The place of one answer. Announced under its id when it is there.
#[derive(Debug)]
pub struct Slot<T> {
    id: u32,
    wakes: Arc<Wakes>,
    state: Mutex<State<T>>,
}

#[derive(Debug)]
enum State<T> {
    Open,
    Answered(T),
    Over,
}

impl<T> Slot<T> {
    /// An open one; it holds the program until it is answered or cancelled.
    pub fn new(wakes: &Arc<Wakes>) -> Arc<Self> {
        wakes.begin();
        Arc::new(Self { id: wakes.next_id(), wakes: Arc::clone(wakes), state: Mutex::new(State::Open) })
    }

    /// The id under which the answer is announced.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Gives the answer. Only the first one counts.
    pub fn answer(&self, answer: T) {
        {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if !matches!(*state, State::Open) {
                return;
            }
            *state = State::Answered(answer);
        }
        // In this order: in between the program could exit.
        self.wakes.mark(self.id, changed::ANSWER);
        self.wakes.end();
    }

    /// The answer, once.
    pub fn take(&self) -> Option<T> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*state, State::Open) {
            return None;
        }
        match std::mem::replace(&mut *state, State::Over) {
            State::Answered(answer) => Some(answer),
            State::Open | State::Over => None,
        }
    }

    /// Nobody waits for it any more.
    pub fn cancel(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(std::mem::replace(&mut *state, State::Over), State::Open) {
            self.wakes.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_given_once_and_holds_the_program_until_then() {
        let wakes = Arc::new(Wakes::default());
        let slot = Slot::new(&wakes);
        assert!(wakes.is_live() && slot.take().is_none());
        slot.answer(1);
        slot.answer(2);
        assert_eq!(wakes.drain(), [slot.id(), changed::ANSWER]);
        assert!(!wakes.is_live());
        assert_eq!((slot.take(), slot.take()), (Some(1), None));
        let cancelled = Slot::<u8>::new(&wakes);
        cancelled.cancel();
        cancelled.answer(1);
        assert!(!wakes.is_live() && cancelled.take().is_none());
    }
}
