//! What both threads know of one command: JavaScript pulls facts from it, the driver puts them in.

use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use protocol::{
    CommandId,
    control::{OutputChannel, StreamEnd},
};
use tokio::sync::mpsc::UnboundedSender;

use super::{
    failure::Failure,
    input::{Input, Left, Shortcut},
    op::Op,
    output::{Collected, Mode, Output},
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
        let counts = state.outcome.is_none() || state.tree == Tree::Alive;
        match (state.counts, counts) {
            (true, false) => self.wakes.end(),
            (false, true) => self.wakes.begin(),
            _ => {}
        }
        state.counts = counts;
    }

    // ---- for JavaScript ----

    /// The id under which changes are announced.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// `argv[0]`.
    pub fn program(&self) -> &str {
        &self.program
    }

    /// The process id, if it is known.
    pub fn pid(&self) -> Option<u32> {
        let mut state = self.lock();
        state.pid_seen |= state.pid.is_some();
        state.pid
    }

    /// Whether it is known to run, or to have run.
    pub fn is_started(&self) -> bool {
        self.lock().started
    }

    /// Waits until it is known to run, or not to, at most so long. Blocks the thread.
    pub fn wait_for_start(&self, patience: Duration) {
        let unknown = |state: &mut State| !state.started && state.outcome.is_none();
        drop(self.start_known.wait_timeout_while(self.lock(), patience, unknown));
    }

    /// Takes up to `max` bytes of an output that waits for its reader.
    pub fn take(&self, channel: OutputChannel, max: usize) -> Option<Vec<u8>> {
        let mut state = self.lock();
        let output = state.outputs[index(channel)].as_mut()?;
        let bytes = output.take(max)?;
        if let Some(taken) = output.taken() {
            state.tell(|id| Op::Consumed(id, channel, taken));
        }
        Some(bytes)
    }

    /// Whether an output has ended and all its bytes were taken.
    pub fn is_over(&self, channel: OutputChannel) -> bool {
        self.lock().outputs[index(channel)].as_ref().is_none_or(Output::is_over)
    }

    /// Nobody reads an output any more.
    pub fn close_output(&self, channel: OutputChannel) {
        let mut state = self.lock();
        let Some(output) = &mut state.outputs[index(channel)] else { return };
        output.discard();
        if !output.is_finished() {
            state.tell(|id| Op::CloseOutput(id, channel));
        }
    }

    /// Takes as many of the bytes as there is room for; 0 means: wait for a change of the input.
    pub fn write(&self, bytes: &[u8]) -> usize {
        let mut state = self.lock();
        let Some(input) = &mut state.input else { return 0 };
        let accepted = input.write(bytes);
        if accepted > 0 && input.is_ready() {
            state.tell(Op::Input);
        }
        accepted
    }

    /// No more input comes.
    pub fn end_input(&self) {
        let mut state = self.lock();
        if let Some(input) = &mut state.input {
            input.end();
            state.tell(Op::Input);
        }
    }

    /// Whether the program takes no more input.
    pub fn is_input_closed(&self) -> bool {
        self.lock().input.as_ref().is_none_or(Input::is_closed)
    }

    /// How it ended, once that is known.
    pub fn outcome(&self) -> Option<Result<Outcome, Failure>> {
        self.lock().outcome.clone()
    }

    /// What is known of the tree.
    pub fn tree(&self) -> Tree {
        self.lock().tree.clone()
    }

    /// Reads a collected output from a whole-stream offset; `None` when it is not collected.
    pub fn read_from(&self, channel: OutputChannel, offset: u64) -> Option<Collected> {
        self.lock().outputs[index(channel)].as_ref()?.read_from(offset)
    }

    /// Bytes of host memory in collected outputs.
    pub fn memory(&self) -> usize {
        self.lock().outputs.iter().flatten().map(Output::memory).sum()
    }

    /// Gives its terminal another size, before what is typed after it.
    pub fn resize(&self, rows: u16, columns: u16) {
        let state = self.lock();
        match state.input.as_ref().and_then(Input::shortcut) {
            Some(shortcut) => {
                drop(state);
                shortcut.resize(rows, columns);
            }
            None => {
                state.tell(|id| Op::Resize(id, rows, columns));
            }
        }
    }

    /// Ends the tree; before the start this calls it off.
    pub fn terminate(&self) {
        let mut state = self.lock();
        if state.tree == Tree::Gone {
            return;
        }
        if state.bound.is_none() {
            return self.end(state, Some(Ok(Outcome::signalled("SIGTERM"))), true);
        }
        // After a failure this tries again, unless there is nobody left to ask.
        if state.tell(Op::Terminate) {
            state.tree = Tree::Alive;
            self.recount(&mut state);
        }
    }

    /// Calls a start off that JavaScript itself could not make; nothing of it reached the sandbox.
    pub fn abandon(&self) {
        let state = self.lock();
        if state.bound.is_none() {
            self.end(state, Some(Err(Failure::Closed)), true);
        }
    }

    /// Sends a wish about this command to its driver, if it was started.
    pub fn ask(&self, op: impl FnOnce(CommandId) -> Op) -> bool {
        self.lock().tell(op)
    }

    // ---- for the session and its driver ----

    /// Gives the command to a session. `reserved` replaces the id that it shows, when that came from another one.
    ///
    /// Returns the prepared process to use, or `None` when the command is over already.
    pub fn bind(&self, id: CommandId, ops: UnboundedSender<Op>, pool: &Arc<Pool>) -> Option<Option<u32>> {
        let mut state = self.lock();
        if state.outcome.is_some() || state.bound.is_some() {
            return None;
        }
        state.bound = Some((id, ops));
        if state.reserved.as_ref().is_some_and(|reserved| !Arc::ptr_eq(&reserved.pool, pool)) {
            state.give_back();
            state.pid = None;
        }
        if state.reserved.is_none()
            && let Some(pid) = pool.take()
        {
            state.reserved = Some(Reserved { pool: Arc::clone(pool), pid });
            state.pid = Some(pid);
            self.wakes.mark(self.id, changed::PID);
        }
        Some(state.reserved.as_ref().map(|reserved| reserved.pid))
    }

    /// Gives the command, which runs already, to a session.
    pub fn adopt(&self, id: CommandId, ops: UnboundedSender<Op>) {
        self.lock().bound = Some((id, ops));
    }

    /// An output goes on at this offset.
    pub fn resume(&self, channel: OutputChannel, offset: u64) {
        if let Some(output) = &mut self.lock().outputs[index(channel)] {
            output.resume(offset);
        }
    }

    /// The prepared process is no more: the command gets another id.
    pub fn forget_prepared(&self) {
        let mut state = self.lock();
        state.reserved = None;
        if state.pid.take().is_some() {
            self.wakes.mark(self.id, changed::PID);
        }
    }

    /// The command runs.
    pub fn started(&self, pid: u32, spill: [Option<String>; 2]) {
        let mut state = self.lock();
        state.reserved = None;
        for (output, path) in state.outputs.iter_mut().zip(spill) {
            if let (Some(output), Some(path)) = (output, path) {
                output.set_spill_path(path);
            }
        }
        state.started = true;
        state.pid = Some(pid);
        self.start_known.notify_all();
        self.wakes.mark(self.id, changed::PID);
    }

    /// The command could not be started, or was called off: its id reads as none from now on, its streams end.
    pub fn start_failed(&self, outcome: Result<Outcome, Failure>, unsent: bool) {
        self.end(self.lock(), Some(outcome), unsent);
    }

    /// Its session is over: what is not known yet will not be. With `outcome` the command ends with it,
    /// `tree` is what is known of its processes.
    pub fn lose(&self, outcome: Result<Outcome, Failure>, tree: Tree) {
        let mut state = self.lock();
        state.outcome.get_or_insert(outcome);
        if state.tree != Tree::Gone {
            state.tree = tree;
        }
        state.end_streams();
        self.wakes.mark(self.id, changed::OUTCOME | changed::TREE | changed::STDOUT | changed::STDERR | changed::STDIN);
        self.recount(&mut state);
    }

    fn end(&self, mut state: MutexGuard<'_, State>, outcome: Option<Result<Outcome, Failure>>, unsent: bool) {
        if unsent {
            state.give_back();
        }
        state.reserved = None;
        state.pid = None;
        if state.outcome.is_none() {
            state.outcome = outcome;
        }
        state.tree = Tree::Gone;
        state.end_streams();
        let all = changed::PID | changed::OUTCOME | changed::TREE | changed::STDOUT | changed::STDERR | changed::STDIN;
        self.wakes.mark(self.id, all);
        self.recount(&mut state);
    }

    /// It ended.
    pub fn settle(&self, outcome: Result<Outcome, Failure>) {
        let mut state = self.lock();
        state.outcome.get_or_insert(outcome);
        self.wakes.mark(self.id, changed::OUTCOME);
        self.recount(&mut state);
    }

    /// Something about its tree is known.
    pub fn set_tree(&self, tree: Tree) {
        let mut state = self.lock();
        if state.tree == Tree::Gone {
            return;
        }
        state.tree = tree;
        self.wakes.mark(self.id, changed::TREE);
        self.recount(&mut state);
    }

    /// Bytes of an output came. Returns how many are consumed already, and whether its reader waits for [`Command::announce`].
    pub fn push(&self, channel: OutputChannel, bytes: Bytes) -> (usize, bool) {
        let mut state = self.lock();
        let Some(output) = &mut state.outputs[index(channel)] else { return (bytes.len(), false) };
        output.push(bytes)
    }

    /// Wakes the reader of an output.
    pub fn announce(&self, channel: OutputChannel) {
        self.wakes.mark(self.id, mask(channel));
    }

    /// Fewer taken bytes than this need not be told ([`Op::Consumed`]). Returns what was taken and not told so far, when it is as much.
    pub fn tell_from(&self, channel: OutputChannel, bytes: usize) -> Option<usize> {
        let mut state = self.lock();
        let output = state.outputs[index(channel)].as_mut()?;
        output.set_tell_from(bytes);
        output.taken()
    }

    /// Bytes of an output that is collected came; they are copied.
    pub fn push_slice(&self, channel: OutputChannel, bytes: &[u8]) {
        if let Some(output) = &mut self.lock().outputs[index(channel)] {
            output.collect(bytes);
        }
    }

    /// Bytes that a collected output had so far.
    pub fn total(&self, channel: OutputChannel) -> u64 {
        self.lock().outputs[index(channel)].as_ref().map_or(0, Output::total)
    }

    /// An output ended; with `None`, without the supervisor's word.
    pub fn finish(&self, channel: OutputChannel, end: Option<StreamEnd>) {
        let mut state = self.lock();
        let Some(output) = &mut state.outputs[index(channel)] else { return };
        match end {
            Some(end) => output.finish(end),
            None => output.abandon(),
        }
        self.wakes.mark(self.id, mask(channel));
    }

    /// Changes an output's spill file.
    pub fn spill(&self, channel: OutputChannel, change: impl FnOnce(&mut Output)) {
        if let Some(output) = &mut self.lock().outputs[index(channel)] {
            change(output);
        }
    }

    /// Whether the input has something to send.
    pub fn is_input_ready(&self) -> bool {
        self.lock().input.as_ref().is_some_and(Input::is_ready)
    }

    /// Takes up to `max` bytes of the input.
    pub fn take_input(&self, max: usize, out: &mut Vec<u8>) -> Left {
        let mut state = self.lock();
        let Some(input) = &mut state.input else { return Left::End };
        let (left, wake) = input.take(max, out);
        if wake {
            self.wakes.mark(self.id, changed::STDIN);
        }
        left
    }

    /// Lets input that waits for nothing, and sizes, go past the driver.
    pub fn set_shortcut(&self, shortcut: Arc<dyn Shortcut>) {
        if let Some(input) = &mut self.lock().input {
            input.set_shortcut(shortcut);
        }
    }

    /// The program takes no more input.
    pub fn close_input(&self) {
        let mut state = self.lock();
        if let Some(input) = &mut state.input {
            input.close();
            self.wakes.mark(self.id, changed::STDIN);
        }
    }
}

impl State {
    fn tell(&self, op: impl FnOnce(CommandId) -> Op) -> bool {
        // A driver that is over has settled everything that it knew.
        self.bound.as_ref().is_some_and(|(id, ops)| ops.send(op(*id)).is_ok())
    }

    /// An id that nobody saw can serve another command.
    fn give_back(&mut self) {
        if let Some(reserved) = self.reserved.take()
            && !self.pid_seen
        {
            reserved.pool.put_back(reserved.pid);
        }
    }

    fn end_streams(&mut self) {
        for output in self.outputs.iter_mut().flatten() {
            output.abandon();
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
}
