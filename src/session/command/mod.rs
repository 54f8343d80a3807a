//! What both threads know of one command: JavaScript pulls facts from it (`consumer`), the driver puts them in (`life`, `streams`).

mod consumer;
mod life;
mod streams;

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use protocol::{CommandId, control::OutputChannel};
use tokio::sync::mpsc::UnboundedSender;

use super::{
    failure::Failure,
    input::Input,
    op::Op,
    output::{Mode, Output},
    pool::Pool,
    wake::{Wakes, changed},
};

/// How a command ended, in the words of Node's `close` event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Exit code; `None` after a signal.
    pub exit_code: Option<u8>,
    /// The signal's name; `None` after a normal exit.
    pub signal: Option<String>,
}

impl Outcome {
    /// Ended by this signal.
    pub fn signalled(name: &str) -> Self {
        Self { exit_code: None, signal: Some(name.to_owned()) }
    }
}

/// What is known of a command's process tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tree {
    /// It may have living members.
    Alive,
    /// It has none, for ever.
    Gone,
    /// It could not be ended, or nobody knows.
    Stuck(Failure),
}

/// A prepared process' id that was given to one command.
#[derive(Debug)]
pub struct Reserved {
    /// Where it came from.
    pub pool: Arc<Pool>,
    /// The id.
    pub pid: u32,
}

/// One command.
#[derive(Debug)]
pub struct Command {
    id: u32,
    wakes: Arc<Wakes>,
    program: String,
    state: Mutex<State>,
    /// Whether it runs, or never will, is known now.
    start_known: Condvar,
}

#[derive(Debug)]
struct State {
    pid: Option<u32>,
    pid_seen: bool,
    started: bool,
    reserved: Option<Reserved>,
    bound: Option<(CommandId, UnboundedSender<Op>)>,
    outputs: [Option<Output>; 2],
    input: Option<Input>,
    outcome: Option<Result<Outcome, Failure>>,
    /// With whom it was lost, if it was.
    lost: Option<Failure>,
    tree: Tree,
    counts: bool,
}

fn index(channel: OutputChannel) -> usize {
    match channel {
        OutputChannel::Stdout => 0,
        OutputChannel::Stderr => 1,
    }
}

fn mask(channel: OutputChannel) -> u32 {
    match channel {
        OutputChannel::Stdout => changed::STDOUT,
        OutputChannel::Stderr => changed::STDERR,
    }
}

impl Command {
    /// A command that nobody has started. `reserved` is the id that it shows from the beginning.
    pub fn new(
        wakes: Arc<Wakes>,
        program: String,
        input: bool,
        outputs: [Option<Mode>; 2],
        reserved: Option<Reserved>,
    ) -> Arc<Self> {
        wakes.begin();
        let state = State {
            pid: reserved.as_ref().map(|reserved| reserved.pid),
            pid_seen: false,
            started: false,
            reserved,
            bound: None,
            outputs: outputs.map(|mode| mode.map(Output::new)),
            input: input.then(Input::default),
            outcome: None,
            lost: None,
            tree: Tree::Alive,
            counts: true,
        };
        Arc::new(Self { id: wakes.next_id(), wakes, program, state: Mutex::new(state), start_known: Condvar::new() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the count of what the program waits for in step. To be called with the state locked and after the news were
    /// announced: JavaScript, which then looks at the state, finds the count right.
    fn recount(&self, state: &mut State) {
        if state.outcome.is_some() {
            self.start_known.notify_all();
        }
        // A reader is waited for as a pipe of Node's own: a descendant may speak after all else is known.
        let read = state.outputs.iter().flatten().any(Output::is_awaited);
        let counts = state.outcome.is_none() || state.tree == Tree::Alive || read;
        match (state.counts, counts) {
            (true, false) => self.wakes.end(),
            (false, true) => self.wakes.begin(),
            _ => {}
        }
        state.counts = counts;
    }
}

impl State {
    fn tell(&self, op: impl FnOnce(CommandId) -> Op) -> bool {
        // A driver that is over has settled everything that it knew.
        self.bound.as_ref().is_some_and(|(id, ops)| ops.send(op(*id)).is_ok())
    }

    /// As [`Self::tell`], for what must not overtake what was written until now.
    fn tell_after_input(&self, op: impl FnOnce(CommandId) -> Op) -> bool {
        if let Some(input) = self.input.as_ref().filter(|input| input.is_ready()) {
            let written = input.written();
            self.tell(|id| Op::InputFirst(id, written));
        }
        self.tell(op)
    }

    /// An id that nobody saw can serve another command.
    fn give_back(&mut self) {
        if let Some(reserved) = self.reserved.take()
            && !self.pid_seen
        {
            reserved.pool.put_back(reserved.pid);
        }
    }

    /// `broken` are those of which bytes may be missing.
    fn end_streams(&mut self, broken: bool) {
        for output in self.outputs.iter_mut().flatten() {
            if broken {
                output.cut_off();
            } else {
                output.abandon();
            }
        }
        if let Some(input) = &mut self.input {
            input.close();
        }
    }
}

impl Drop for Command {
    fn drop(&mut self) {
        if self.lock().counts {
            self.wakes.end();
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed test may panic")]
    use super::*;

    fn command(wakes: &Arc<Wakes>, pool: &Arc<Pool>) -> Arc<Command> {
        let reserved = pool.take().map(|pid| Reserved { pool: Arc::clone(pool), pid });
        Command::new(Arc::clone(wakes), "true".into(), true, [Some(Mode::Raw), Some(Mode::Raw)], reserved)
    }

    fn parts() -> (Arc<Wakes>, Arc<Pool>) {
        (Arc::new(Wakes::default()), Arc::new(Pool::default()))
    }

    #[test]
    fn c30_terminated_before_it_was_started_it_ends_as_terminated_and_nothing_is_left() {
        let (wakes, pool) = parts();
        pool.add([70]);
        let command = command(&wakes, &pool);
        command.terminate();
        assert_eq!(command.outcome(), Some(Ok(Outcome::signalled("SIGTERM"))));
        assert_eq!(command.tree(), Tree::Gone);
        assert!(command.is_over(OutputChannel::Stdout) && command.is_input_closed());
        wakes.drain();
        assert!(!wakes.is_live());
        assert_eq!(pool.take(), Some(70), "an id that nobody saw serves another command");
        let (ops, _receiver) = tokio::sync::mpsc::unbounded_channel();
        assert_eq!(command.bind(1, ops, &pool), None, "it is not started any more");
    }

    #[test]
    fn c11_an_id_that_was_seen_is_never_given_out_again() {
        let (wakes, pool) = parts();
        pool.add([70]);
        let command = command(&wakes, &pool);
        assert_eq!(command.pid(), Some(70));
        command.abandon();
        assert_eq!(command.pid(), None);
        assert_eq!(pool.take(), None);
    }

    #[test]
    fn c24_an_id_of_another_sandbox_is_not_used() {
        let (wakes, pool) = parts();
        let other = Arc::new(Pool::default());
        other.add([70]);
        pool.add([80]);
        let command = command(&wakes, &other);
        assert_eq!(command.pid(), Some(70));
        let (ops, _receiver) = tokio::sync::mpsc::unbounded_channel();
        assert_eq!(command.bind(1, ops, &pool), Some(Some(80)));
        assert_eq!(command.pid(), Some(80));
    }

    #[test]
    fn c32_a_failed_cleanup_can_be_tried_again_and_a_proven_end_stays() {
        let (wakes, pool) = parts();
        let command = command(&wakes, &pool);
        let (ops, mut receiver) = tokio::sync::mpsc::unbounded_channel();
        command.bind(1, ops, &pool).unwrap();
        command.settle(Ok(Outcome { exit_code: Some(0), signal: None }));
        assert!(wakes.is_live(), "its tree may live");
        command.set_tree(Tree::Stuck(Failure::Survived(Vec::new())));
        wakes.drain();
        assert!(!wakes.is_live());
        command.terminate();
        assert_eq!(command.tree(), Tree::Alive);
        assert!(matches!(receiver.try_recv(), Ok(Op::Terminate(1))));
        command.set_tree(Tree::Gone);
        command.terminate();
        assert!(receiver.try_recv().is_err(), "a no-op for ever");
        wakes.drain();
        assert!(!wakes.is_live());
    }

    #[test]
    fn the_program_waits_for_a_command_until_its_outcome_and_its_tree_are_known() {
        let (wakes, pool) = parts();
        let command = command(&wakes, &pool);
        command.set_tree(Tree::Gone);
        assert!(wakes.is_live());
        command.settle(Ok(Outcome { exit_code: Some(3), signal: None }));
        wakes.drain();
        assert!(!wakes.is_live());
        drop(command);
        wakes.drain();
        assert!(!wakes.is_live());
    }

    #[test]
    fn c22_the_program_waits_for_an_output_while_somebody_reads_it() {
        let (wakes, pool) = parts();
        let command = command(&wakes, &pool);
        command.settle(Ok(Outcome { exit_code: Some(0), signal: None }));
        command.set_tree(Tree::Gone);
        wakes.drain();
        assert!(!wakes.is_live(), "nobody reads");
        assert_eq!(command.take(OutputChannel::Stdout, 10), None);
        assert!(wakes.is_live());
        command.push(OutputChannel::Stdout, b"late");
        assert!(command.take(OutputChannel::Stdout, 10).is_some());
        assert!(!wakes.is_live(), "nobody asked for more");
        assert_eq!(command.take(OutputChannel::Stdout, 10), None);
        command.finish(OutputChannel::Stdout, None);
        wakes.drain();
        assert!(!wakes.is_live());
        assert_eq!(command.take(OutputChannel::Stderr, 10), None);
        command.close_output(OutputChannel::Stderr);
        wakes.drain();
        assert!(!wakes.is_live());
    }
}
