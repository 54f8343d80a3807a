//! A question to the supervisor that JavaScript asked, and its answer.

use std::sync::{Arc, Mutex, PoisonError};

use super::{
    failure::Failure,
    wake::{Wakes, changed},
};

/// What an answered question brings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is done.
    Done,
    /// A path.
    Path(String),
    /// A terminal's foreground group and whether it waits for input; `None` when there is none.
    Foreground(Option<(u32, bool)>),
    /// The group that was signalled.
    Group(u32),
    /// Commands that a predecessor left running.
    Running(Vec<RunningCommand>),
}

/// A command that a predecessor left running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningCommand {
    /// By what it can be adopted.
    pub id: u32,
    /// Its process id.
    pub pid: u32,
    /// Program and arguments.
    pub argv: Vec<String>,
}

/// One question. Answered once; asked again after that, it has nothing.
#[derive(Debug)]
pub struct Request {
    id: u32,
    wakes: Arc<Wakes>,
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    Open,
    Answered(Result<Answer, Failure>),
    Over,
}

impl Request {
    /// A new, open question.
    pub fn new(wakes: Arc<Wakes>) -> Arc<Self> {
        wakes.begin();
        Arc::new(Self { id: wakes.next_id(), wakes, state: Mutex::new(State::Open) })
    }

    /// The id under which its answer is announced.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Gives the answer. Only the first one counts.
    pub fn answer(&self, answer: Result<Answer, Failure>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !matches!(*state, State::Open) {
            return;
        }
        *state = State::Answered(answer);
        self.wakes.mark(self.id, changed::ANSWER);
        self.wakes.end();
    }

    /// The answer, once.
    pub fn take(&self) -> Option<Result<Answer, Failure>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*state, State::Open) {
            return None;
        }
        match std::mem::replace(&mut *state, State::Over) {
            State::Answered(answer) => Some(answer),
            State::Open | State::Over => None,
        }
    }

    /// Nobody waits for the answer any more.
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
    fn a_question_is_answered_once_and_holds_the_program_until_then() {
        let wakes = Arc::new(Wakes::default());
        let request = Request::new(Arc::clone(&wakes));
        assert!(wakes.is_live());
        assert_eq!(request.take(), None);
        request.answer(Ok(Answer::Path("/bin/sh".into())));
        request.answer(Err(Failure::Closed));
        wakes.drain();
        assert!(!wakes.is_live());
        assert_eq!(request.take(), Some(Ok(Answer::Path("/bin/sh".into()))));
        assert_eq!(request.take(), None);
    }

    #[test]
    fn a_cancelled_question_lets_the_program_go() {
        let wakes = Arc::new(Wakes::default());
        let request = Request::new(Arc::clone(&wakes));
        request.cancel();
        request.answer(Ok(Answer::Done));
        assert!(!wakes.is_live());
        assert_eq!(request.take(), None);
        assert!(wakes.drain().is_empty());
    }
}
