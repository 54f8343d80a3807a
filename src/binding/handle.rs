//! A command, as the shim's handle sees it.

use std::{
    cell::{Cell, RefCell},
    sync::Arc,
};

use napi::{
    Env, Result,
    bindgen_prelude::{BufferSlice, ObjectFinalize},
};
use napi_derive::napi;
use protocol::control::{OutputChannel, Start};

use super::{
    objects::{ErrorObject, OutcomeObject, TreeObject},
    request::NativeRequest,
    service::whole,
};
use crate::session::{
    command::{Command, Tree},
    op::Op,
    request::Request,
    signal,
    wake::Wakes,
};

/// Smaller outputs are copied: an external buffer costs more than the copy.
const EXTERNAL_FROM: usize = 16 * 1024;

/// A command or a terminal. Channel 0 is standard output, or what a terminal shows; channel 1 is standard error.
#[napi(custom_finalize)]
pub struct NativeHandle {
    command: Arc<Command>,
    wakes: Arc<Wakes>,
    /// What to start, until it is.
    start: RefCell<Option<Start>>,
    /// Bytes of native memory that the engine was told of.
    reported: Cell<i64>,
}

fn channel(number: u32) -> OutputChannel {
    if number == 0 { OutputChannel::Stdout } else { OutputChannel::Stderr }
}

impl NativeHandle {
    /// `start` is `None` for a command that is on its way already.
    pub(super) fn new(command: Arc<Command>, wakes: Arc<Wakes>, start: Option<Start>) -> Self {
        Self { command, wakes, start: RefCell::new(start), reported: Cell::new(0) }
    }

    pub(super) fn command(&self) -> &Arc<Command> {
        &self.command
    }

    pub(super) fn take_start(&self) -> Option<Start> {
        self.start.take()
    }

    /// Tells the engine how much memory hangs on this object, so that it collects in time.
    fn report(&self, env: Env, bytes: usize) -> Result<()> {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        let change = bytes - self.reported.replace(bytes);
        if change != 0 {
            env.adjust_external_memory(change)?;
        }
        Ok(())
    }
}

#[napi]
impl NativeHandle {
    /// The id under which changes are announced.
    #[napi(getter, catch_unwind)]
    pub fn id(&self) -> u32 {
        self.command.id()
    }

    /// The process id; -1 while none is known.
    #[napi(getter, catch_unwind)]
    pub fn pid(&self) -> i32 {
        self.command.pid().and_then(|pid| i32::try_from(pid).ok()).unwrap_or(-1)
    }

    /// Whether it is known to run, or to have run.
    #[napi(getter, catch_unwind)]
    pub fn is_started(&self) -> bool {
        self.command.is_started()
    }

    /// Up to `max` bytes of an output; `null` when none wait.
    #[napi(catch_unwind)]
    pub fn take<'env>(&self, env: &'env Env, number: u32, max: u32) -> Result<Option<BufferSlice<'env>>> {
        let Some(bytes) = self.command.take(channel(number), max as usize) else { return Ok(None) };
        if bytes.len() < EXTERNAL_FROM {
            BufferSlice::copy_from(env, bytes)
        } else {
            BufferSlice::from_data(env, bytes)
        }
        .map(Some)
    }

    /// Whether [`NativeHandle::read_lent`] may have more once nothing waits.
    #[napi(catch_unwind)]
    pub fn is_lent(&self, number: u32) -> bool {
        self.command.is_lent(channel(number))
    }

    /// Fills `room` from an output's pipe itself; gives how many bytes that were.
    #[napi(catch_unwind)]
    pub fn read_lent(&self, number: u32, mut room: BufferSlice<'_>) -> u32 {
        u32::try_from(self.command.read_lent(channel(number), &mut room)).unwrap_or(u32::MAX)
    }

    /// Whether an output has ended, so that no change of it is announced any more; there may be bytes to take.
    #[napi(catch_unwind)]
    pub fn has_ended(&self, number: u32) -> bool {
        self.command.has_ended(channel(number))
    }

    /// Whether an output has ended and was taken to its end.
    #[napi(catch_unwind)]
    pub fn is_over(&self, number: u32) -> bool {
        self.command.is_over(channel(number))
    }

    /// Whether bytes may be missing at an output's end: what was to bring them was lost.
    #[napi(catch_unwind)]
    pub fn is_cut_off(&self, number: u32) -> bool {
        self.command.is_cut_off(channel(number))
    }

    /// Nobody reads an output any more.
    #[napi(catch_unwind)]
    pub fn close_output(&self, number: u32) {
        self.command.close_output(channel(number));
    }

    /// Takes bytes for the input and returns how many; less than all means: go on when the input changes.
    #[napi(catch_unwind)]
    pub fn write(&self, bytes: BufferSlice<'_>) -> u32 {
        u32::try_from(self.command.write(&bytes)).unwrap_or(u32::MAX)
    }

    /// The last `count` bytes that were taken for the input are not wanted any more, as far as they have not gone.
    #[napi(catch_unwind)]
    pub fn take_back(&self, count: f64) {
        self.command.take_back(usize::try_from(whole(count)).unwrap_or(usize::MAX));
    }

    /// No more input comes.
    #[napi(catch_unwind)]
    pub fn end_input(&self) {
        self.command.end_input();
    }

    /// Whether the program takes no more input.
    #[napi(catch_unwind)]
    pub fn is_input_closed(&self) -> bool {
        self.command.is_input_closed()
    }

    /// Ends the tree; before the start this calls it off.
    #[napi(catch_unwind)]
    pub fn terminate(&self) {
        self.command.terminate();
    }

    /// The shim could not start it.
    #[napi(catch_unwind)]
    pub fn abandon(&self) {
        self.command.abandon();
    }

    /// How it ended; `null` before that is known.
    #[napi(catch_unwind)]
    pub fn outcome(&self, env: Env) -> Result<Option<OutcomeObject>> {
        self.report(env, self.command.memory())?;
        Ok(self.command.outcome().map(Into::into))
    }

    /// Why no more is known of it than its outcome; `null` unless its sandbox or the supervisor there was lost.
    #[napi(catch_unwind)]
    pub fn lost(&self) -> Option<ErrorObject> {
        self.command.lost().as_ref().map(Into::into)
    }

    /// What is known of its tree; `null` while it may live.
    #[napi(catch_unwind)]
    pub fn tree(&self) -> Option<TreeObject> {
        match self.command.tree() {
            Tree::Alive => None,
            Tree::Gone => Some(TreeObject { gone: true, error: None }),
            Tree::Stuck(failure) => Some(TreeObject { gone: false, error: Some((&failure).into()) }),
        }
    }

    /// Reads a collected output from a whole-stream offset.
    #[napi(catch_unwind)]
    pub fn read_from<'env>(&self, env: &'env Env, number: u32, offset: f64) -> Result<Option<CollectedObject<'env>>> {
        self.report(*env, self.command.memory())?;
        // Saturates: a negative or absurd offset is the nearest real one.
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "float casts saturate, which is what is wanted"
        )]
        let offset = offset as u64;
        let Some(read) = self.command.read_from(channel(number), offset) else { return Ok(None) };
        #[allow(clippy::cast_precision_loss, reason = "offsets are exact up to 8 PiB")]
        let next_offset = read.next as f64;
        Ok(Some(CollectedObject {
            bytes: BufferSlice::copy_from(env, read.bytes)?,
            next_offset,
            lossy: read.lossy,
            spill_path: read.spill_path,
        }))
    }

    /// Gives a terminal another size.
    #[napi(catch_unwind)]
    pub fn resize(&self, rows: u16, cols: u16) {
        self.command.resize(rows, cols);
    }

    /// Asks for a terminal's foreground group.
    #[napi(catch_unwind)]
    pub fn inspect_foreground(&self) -> NativeRequest {
        self.question(|request| move |id| Op::Inspect(id, request))
    }

    /// Signals a terminal's foreground group; the answer is its id. An unknown signal is none.
    #[napi(catch_unwind)]
    pub fn signal_foreground(&self, name: String) -> Option<NativeRequest> {
        let number = signal::number(&name)?;
        Some(self.question(|request| move |id| Op::Signal(id, request, number)))
    }
}

impl NativeHandle {
    fn question<F: FnOnce(u32) -> Op>(&self, op: impl FnOnce(Arc<Request>) -> F) -> NativeRequest {
        let request = Request::new(&self.wakes);
        if !self.command.ask(op(Arc::clone(&request))) {
            request.answer(Err(crate::session::failure::Failure::NoForeground));
        }
        NativeRequest::new(request)
    }
}

impl ObjectFinalize for NativeHandle {
    fn finalize(self, env: Env) -> Result<()> {
        self.report(env, 0)
    }
}

/// What one read of a collected output gives.
#[napi(object, object_from_js = false, use_nullable = true)]
pub struct CollectedObject<'env> {
    /// From the asked offset, or the whole window when lossy.
    pub bytes: BufferSlice<'env>,
    /// Offset to go on from.
    pub next_offset: f64,
    /// Whether bytes before these are missing.
    pub lossy: bool,
    /// The file in the sandbox that has all of them.
    pub spill_path: Option<String>,
}
