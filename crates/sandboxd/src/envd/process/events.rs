//! The event stream of one listener.

use std::{sync::Arc, time::Duration};

use envd_api::process::{
    ProcessEvent,
    process_event::{DataEvent, EndEvent, Event, KeepAlive, StartEvent, data_event::Output},
};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};

use super::{
    fanout::{Channel, Chunk},
    running::Process,
};
use crate::envd::connect::{Error, Stream};

/// The events of a process for one listener: the start, output as it comes, keepalives when there
/// is none, the end. `wrap` makes the call's message of each.
pub fn events<Out: Send + 'static>(
    process: Arc<Process>,
    mut output: mpsc::Receiver<Chunk>,
    keepalive: Duration,
    wrap: fn(ProcessEvent) -> Out,
) -> Stream<Out> {
    Box::pin(async_stream::stream! {
        yield Ok(wrap(start(process.pid)));
        let mut silent_since = Instant::now();
        loop {
            let due = sleep_until(silent_since + keepalive);
            tokio::select! {
                biased;
                chunk = output.recv() => match chunk {
                    Some(chunk) => yield Ok(wrap(data(chunk))),
                    None => break,
                },
                () = due => yield Ok(wrap(event(Event::Keepalive(KeepAlive {})))),
            }
            silent_since = Instant::now();
        }
        let ended = process.end.subscribe().wait_for(Option::is_some).await.ok().and_then(|end| end.clone());
        match ended {
            Some(ended) => yield Ok(wrap(end(ended))),
            None => yield Err(Error::internal("the process's supervision has ended")),
        }
    })
}

/// The first event.
pub fn start(pid: u32) -> ProcessEvent {
    event(Event::Start(StartEvent { pid }))
}

/// The last event.
pub fn end(end: EndEvent) -> ProcessEvent {
    event(Event::End(end))
}

fn data(chunk: Chunk) -> ProcessEvent {
    let output = match chunk.channel {
        Channel::Stdout => Output::Stdout(chunk.bytes),
        Channel::Stderr => Output::Stderr(chunk.bytes),
        Channel::Terminal => Output::Pty(chunk.bytes),
    };
    event(Event::Data(DataEvent { output: Some(output) }))
}

fn event(event: Event) -> ProcessEvent {
    ProcessEvent { event: Some(event) }
}
