//! What JavaScript wants of a running command.

use std::sync::Arc;

use protocol::control::OutputChannel;
use tokio::sync::{Notify, mpsc::UnboundedReceiver};

use super::{flow::Flow, ladder::Ladder};
use crate::session::op::Op;

/// Whom wishes go to.
pub struct Wishes {
    /// Ends the tree.
    pub ladder: Arc<Ladder>,
    /// Standard output's and standard error's readers.
    pub flows: [Option<Arc<Flow>>; 2],
    /// The input's writer.
    pub input: Arc<Notify>,
}

impl Wishes {
    /// Passes wishes on as long as the command exists.
    pub async fn run(self, mut ops: UnboundedReceiver<Op>) {
        while let Some(op) = ops.recv().await {
            match op {
                Op::Terminate(_) => self.ladder.begin(),
                Op::Input(_) => self.input.notify_one(),
                Op::Consumed(_, channel, bytes) => self.flow(channel, |flow| flow.consumed(bytes)),
                Op::CloseOutput(_, channel) => self.flow(channel, Flow::close),
                // The rest is for supervisors.
                _ => {}
            }
        }
    }

    fn flow(&self, channel: OutputChannel, tell: impl FnOnce(&Flow)) {
        let index = usize::from(channel == OutputChannel::Stderr);
        if let Some(flow) = &self.flows[index] {
            tell(flow);
        }
    }
}
