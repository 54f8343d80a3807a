//! A question whose answer is announced.

use std::sync::Arc;

use napi_derive::napi;

use super::objects::{AnswerObject, ForegroundObject, RunningObject};
use crate::session::request::{Answer, Request, RunningCommand};

/// A question to the sandbox.
#[napi]
pub struct NativeRequest {
    request: Arc<Request>,
}

impl NativeRequest {
    pub(super) fn new(request: Arc<Request>) -> Self {
        Self { request }
    }
}

#[napi]
impl NativeRequest {
    /// The id under which the answer is announced.
    #[napi(getter, catch_unwind)]
    pub fn id(&self) -> u32 {
        self.request.id()
    }

    /// The answer, once; `null` before it came.
    #[napi(catch_unwind)]
    pub fn take(&self) -> Option<AnswerObject> {
        let mut object = AnswerObject { error: None, path: None, foreground: None, group: None, running: None };
        match self.request.take()? {
            Ok(Answer::Done) => {}
            Ok(Answer::Path(path)) => object.path = Some(path),
            Ok(Answer::Foreground(group)) => {
                object.foreground =
                    group.map(|(process_group_id, input_waiting)| ForegroundObject { process_group_id, input_waiting });
            }
            Ok(Answer::Group(group)) => object.group = Some(group),
            Ok(Answer::Running(running)) => {
                let object_of = |RunningCommand { id, pid, argv }| RunningObject { id, pid, argv };
                object.running = Some(running.into_iter().map(object_of).collect());
            }
            Err(failure) => object.error = Some((&failure).into()),
        }
        Some(object)
    }

    /// Nobody waits for it any more.
    #[napi(catch_unwind)]
    pub fn cancel(&self) {
        self.request.cancel();
    }
}
