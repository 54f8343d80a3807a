//! What JavaScript wants of a running command.

use std::sync::Arc;

use protocol::control::OutputChannel;
use tokio::sync::{Notify, mpsc::UnboundedReceiver};

use super::{flow::Flow, ladder::Ladder, living::Session, side::aside, terminal::Far};
use crate::session::{
    failure::Failure,
    op::Op,
    request::{Answer, Request},
};

/// Whom wishes go to.
pub struct Wishes {
    /// Ends the tree.
    pub ladder: Arc<Ladder>,
    /// Whom signals go to.
    pub session: Arc<Session>,
    /// Standard output's and standard error's readers.
    pub flows: [Option<Arc<Flow>>; 2],
    /// The input's writer.
    pub input: Arc<Notify>,
}

impl Wishes {
    /// Passes wishes on as long as the command exists, which therefore nothing here may keep.
    pub async fn run(self, mut ops: UnboundedReceiver<Op>) {
        while let Some(op) = ops.recv().await {
            match op {
                Op::Terminate(_) => self.ladder.begin(),
                Op::Input(_) => self.input.notify_one(),
                Op::Consumed(_, channel, bytes) => self.flow(channel, |flow| flow.consumed(bytes)),
                Op::CloseOutput(_, channel) => self.flow(channel, Flow::close),
                Op::Inspect(_, request) => {
                    self.ask(request, |terminal, session| Ok(terminal.inspect(&session.leader)), true)
                }
                Op::Signal(_, request, signal) => {
                    self.ask(request, move |terminal, session| terminal.signal(&session.leader, signal), false);
                }
                // The rest is for supervisors.
                _ => {}
            }
        }
    }

    /// Lets a question be answered where it may block; if `shown`, after what its terminal has shown until then.
    fn ask(
        &self,
        request: Arc<Request>,
        answer: impl FnOnce(&Far, &Session) -> Result<Answer, Failure> + Send + 'static,
        shown: bool,
    ) {
        let session = Arc::clone(&self.session);
        tokio::spawn(async move {
            let Some(terminal) = session.terminal.clone() else { return request.answer(Err(Failure::NoForeground)) };
            let asked = Arc::clone(&terminal);
            let answer = aside(move || answer(&asked, &session)).await;
            if shown {
                terminal.shown().await;
            }
            request.answer(answer.unwrap_or(Err(Failure::NoForeground)));
        });
    }

    fn flow(&self, channel: OutputChannel, tell: impl FnOnce(&Flow)) {
        let index = usize::from(channel == OutputChannel::Stderr);
        if let Some(flow) = &self.flows[index] {
            tell(flow);
        }
    }
}
