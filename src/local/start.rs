//! Starting a program with pipes: on the caller's thread, so that its id is known when that returns (C70).

use std::{
    io,
    os::fd::{AsFd as _, BorrowedFd, OwnedFd},
    sync::Arc,
    time::Duration,
};

use process::{Pid, Stage, environment::Environment, image::ExecImage, pidfd::PidFd, pipe, spawn::SpawnError, stdio};
use protocol::control::{OutputChannel, StartFailure, StartStage};
use tokio::runtime::Handle;

pub use super::spill::Place;
use super::{
    attend::{Streams, attend},
    flow::Flow,
    life::{Held, Unread},
    living::Living,
    numbers,
    reader::{Reader, Sink},
    spill::Spill,
};
use crate::session::{command::Command, failure::Failure, output::Mode};

/// A program and what it gets.
pub struct Program {
    /// It and its arguments; the first is not empty.
    pub argv: Vec<Vec<u8>>,
    /// Its working directory; `None` is this process' own.
    pub cwd: Option<Vec<u8>>,
    /// All of its environment.
    pub environment: Environment,
    /// How long a SIGTERM, and a holder of its outputs, has.
    pub grace: Duration,
}

/// Where descriptor 1 or 2 goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// It is this process' own.
    Inherited,
    /// To us.
    Piped(Mode),
}

/// The descriptors of a program.
pub struct Stdio {
    /// Whether descriptor 0 is a socket that we write to; else the null device.
    pub input: bool,
    /// Descriptors 1 and 2.
    pub outputs: [Output; 2],
    /// Where spill files go.
    pub spill: Place,
}

/// Starts `program` for `command` and follows it on `runtime`. What happens, a failed start included, `command` tells.
pub fn start(runtime: &Handle, living: &Arc<Living>, command: &Arc<Command>, program: &Program, stdio: &Stdio) {
    match ends(stdio).map_err(resources).and_then(|ends| launch(program, &ends).map(|started| (ends, started))) {
        Ok((ends, started)) => follow(runtime, living, command, program.grace, stdio, ends, started),
        Err(failure) => fail(command, failure),
    }
}

/// The command could not be started.
pub fn fail(command: &Command, failure: StartFailure) {
    let program = command.program().to_owned();
    command.start_failed(Err(Failure::Start { program, failure }), true);
}

/// Our ends and the program's.
struct Ends {
    null: OwnedFd,
    input: Option<(OwnedFd, OwnedFd)>,
    outputs: [Option<(OwnedFd, OwnedFd)>; 2],
}

fn ends(stdio: &Stdio) -> io::Result<Ends> {
    let input = if stdio.input { Some(stdio::socket_pair()?) } else { None };
    if let Some((ours, _)) = &input {
        stdio::set_nonblocking(ours)?;
    }
    let [out, err] = stdio.outputs;
    Ok(Ends { null: stdio::null()?, input, outputs: [output(out)?, output(err)?] })
}

fn output(output: Output) -> io::Result<Option<(OwnedFd, OwnedFd)>> {
    if output == Output::Inherited {
        return Ok(None);
    }
    let (read, write) = pipe::pair()?;
    stdio::set_nonblocking(&read)?;
    Ok(Some((read, write)))
}

fn launch(program: &Program, ends: &Ends) -> Result<(Pid, PidFd), StartFailure> {
    let own = [rustix::stdio::stdout(), rustix::stdio::stderr()];
    let theirs = |index: usize| ends.outputs[index].as_ref().map_or(own[index], |(_, write)| write.as_fd());
    let input = ends.input.as_ref().map_or(ends.null.as_fd(), |(_, theirs)| theirs.as_fd());
    exec(program, [input, theirs(0), theirs(1)], false)
}

/// Starts it with these descriptors.
pub fn exec(program: &Program, stdio: [BorrowedFd<'_>; 3], terminal: bool) -> Result<(Pid, PidFd), StartFailure> {
    let image = ExecImage::new(&program.argv, &program.environment, program.cwd.as_deref());
    // The shim has refused what can't be laid out.
    let image = image.map_err(|_| StartFailure { errno: libc::EINVAL, stage: StartStage::Exec })?;
    let started = process::spawn::spawn(image, stdio, terminal, &process::Settings::default())
        .map_err(|error| start_failure(&error))?;
    Ok((started.pid, started.pidfd))
}

fn start_failure(error: &SpawnError) -> StartFailure {
    let stage = match error {
        SpawnError::Clone(_) => StartStage::Resources,
        SpawnError::Child(failure) if failure.stage == Stage::Chdir => StartStage::Cwd,
        SpawnError::Child(_) => StartStage::Exec,
    };
    StartFailure { errno: numbers::error(error.errno()), stage }
}

/// No descriptors to be had.
#[allow(clippy::needless_pass_by_value, reason = "for map_err")]
pub fn resources(error: io::Error) -> StartFailure {
    StartFailure { errno: numbers::error(error.raw_os_error().unwrap_or(libc::EIO)), stage: StartStage::Resources }
}

fn follow(
    runtime: &Handle,
    living: &Arc<Living>,
    command: &Arc<Command>,
    grace: Duration,
    stdio: &Stdio,
    ends: Ends,
    (pid, pidfd): (Pid, PidFd),
) {
    let Ends { null, input, outputs } = ends;
    drop(null);
    let mut sources = outputs.map(|pair| pair.map(|(read, _)| read));
    let channels = [OutputChannel::Stdout, OutputChannel::Stderr];
    let mut flows = [None, None];
    let mut readings = Vec::new();
    for (index, channel) in channels.into_iter().enumerate() {
        let (Some(source), Output::Piped(mode)) = (sources[index].take(), stdio.outputs[index]) else { continue };
        let flow = Arc::new(Flow::default());
        let reader = Reader {
            command: Arc::clone(command),
            channel,
            flow: Arc::clone(&flow),
            sink: sink(mode, channel, &stdio.spill),
            terminal: false,
        };
        let held = if matches!(mode, Mode::Tail { .. }) { Held::Cut } else { Held::Stays };
        flows[index] = Some(flow);
        readings.push(Unread { reader, source, held });
    }
    attend(
        runtime,
        living,
        command,
        grace,
        (pid, pidfd),
        Streams { flows, readings, input: input.map(|(ours, _)| ours), terminal: None },
    );
}

fn sink(mode: Mode, channel: OutputChannel, place: &Place) -> Sink {
    let Mode::Tail { window, spill } = mode else { return Sink::Queue };
    let label = if channel == OutputChannel::Stdout { "stdout" } else { "stderr" };
    Sink::Tail {
        window: window as u64,
        spill: spill.map(|cap| Spill::new(place.clone(), label, cap)),
        unkept: Vec::new(),
    }
}
