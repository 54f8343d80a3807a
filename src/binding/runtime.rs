//! The one runtime of this process.

use std::sync::{Mutex, PoisonError};

use napi::{Error, Result};
use tokio::runtime::{Builder, Handle, Runtime};

/// One is enough: the tasks wait, they don't compute. Bytes that pass from task to task stay on one core; with two threads each
/// hop may wake the other one (measured: 0.1 to 0.3 s of CPU a GiB).
const WORKERS: usize = 1;

/// Started when first needed and never torn down: environments come and go, its tasks and threads must outlive each of them.
static RUNTIME: Mutex<Option<Runtime>> = Mutex::new(None);

/// A handle to the runtime.
///
/// # Errors
/// When the system gives no threads.
pub fn handle() -> Result<Handle> {
    let mut runtime = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(runtime) = &*runtime {
        return Ok(runtime.handle().clone());
    }
    let fresh = Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .thread_name("dsh-subprocess")
        .enable_all()
        .build()
        .map_err(|error| Error::from_reason(format!("cannot start the addon's threads: {error}")))?;
    let handle = fresh.handle().clone();
    *runtime = Some(fresh);
    Ok(handle)
}
