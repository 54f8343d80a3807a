//! One JavaScript environment: the way to its thread, and what keeps it from exiting.

use std::{cell::Cell, sync::Arc};

use napi::{
    Env, Result, Status,
    bindgen_prelude::{FnArgs, Function, Unknown},
    check_status, sys,
    threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode},
};
use napi_derive::napi;

use crate::session::wake::Wakes;

type Dispatch = ThreadsafeFunction<(), Unknown<'static>, FnArgs<(Vec<u32>,)>, Status, false, true, 2>;

/// The way to the thread of one environment.
///
/// `dispatch` is called with `[id, mask, id, mask, …]`: what changed since the last call, see `lib/native.js`. At most one
/// call is under way, whatever happens; after the end of the environment calls are dropped.
#[napi]
pub struct Waker {
    wakes: Arc<Wakes>,
    dispatch: Arc<Dispatch>,
    holds: Cell<bool>,
}

#[napi]
impl Waker {
    /// Makes it; once an environment.
    #[napi(constructor, catch_unwind)]
    pub fn new(dispatch: Function<'_, FnArgs<(Vec<u32>,)>, Unknown<'static>>) -> Result<Self> {
        let wakes = Arc::new(Wakes::default());
        let source = Arc::clone(&wakes);
        let dispatch: Arc<Dispatch> = Arc::new(
            dispatch
                .build_threadsafe_function::<()>()
                .weak::<true>()
                .callee_handled::<false>()
                .max_queue_size::<2>()
                .build_callback(move |_| Ok(FnArgs::from((source.drain(),))))?,
        );
        let call = Arc::downgrade(&dispatch);
        wakes.on_change(move || {
            // Gone or closing: there is nobody to tell.
            if let Some(dispatch) = call.upgrade() {
                dispatch.call((), ThreadsafeFunctionCallMode::NonBlocking);
            }
        });
        Ok(Self { wakes, dispatch, holds: Cell::new(false) })
    }

    /// How many commands and questions the program waits for.
    #[napi(getter, catch_unwind)]
    pub fn live(&self) -> i64 {
        self.wakes.live()
    }

    /// Holds the environment's loop while there is anything to wait for, and lets it go when not. To be called after whatever may
    /// have changed that.
    #[napi(catch_unwind)]
    pub fn hold(&self, env: Env) -> Result<()> {
        let wanted = self.wakes.is_live();
        if wanted == self.holds.get() || self.dispatch.aborted() {
            return Ok(());
        }
        let raw = self.dispatch.raw();
        // SAFETY: on the environment's own thread, with a function that it has not finalized: that marks it aborted, on this thread.
        check_status!(unsafe {
            if wanted {
                sys::napi_ref_threadsafe_function(env.raw(), raw)
            } else {
                sys::napi_unref_threadsafe_function(env.raw(), raw)
            }
        })?;
        self.holds.set(wanted);
        Ok(())
    }
}

impl Waker {
    /// What is to be announced.
    pub fn wakes(&self) -> &Arc<Wakes> {
        &self.wakes
    }
}
