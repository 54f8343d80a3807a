//! How a command begins.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use process::environment::{Change, Environment};
use process::image::ExecImage;
use process::prepared::{Outcome, Starting};
use process::pty::Terminal;
use process::{Failure, Stage, pipe, stdio};
use protocol::control::{self, EndReason, FromSupervisor, Start, StartFailure, StartStage, Stdio, StreamEnd};
use protocol::{Channel, CommandId, StreamId};
use serde_bytes::ByteBuf;

use super::output::{Far, Output};
use super::spill::Spill;
use super::stdin::Input;
use super::{Command, Phase, channel_of};
use crate::poller::{Interest, Token};
use crate::state;
use crate::terminate::Ladder;
use crate::worker::Worker;

/// Prepared processes tried for one command; each may be killed by another program just then.
const ATTEMPTS: u32 = 4;

/// A start that is not confirmed.
pub struct Launch {
    starting: Starting,
    image: ExecImage,
    /// The program's own descriptors, for another attempt.
    near: [OwnedFd; 3],
    terminal: bool,
    attempts: u32,
}

impl Launch {
    /// The process that has the program.
    pub fn pid(&self) -> process::Pid {
        self.starting.pid
    }

    /// Lets it go on if somebody stopped it.
    pub fn wake(&self) {
        self.starting.wake();
    }

    /// Ends it, whether it leads its session yet or not.
    pub fn kill(&self) {
        self.starting.kill();
    }

    /// When it started, in clock ticks since boot.
    pub fn start_time(&self) -> u64 {
        self.starting.start_time
    }
}

/// Our ends of a command's descriptors, and its own.
struct Streams {
    stdin: Input,
    outputs: [Option<Output>; 2],
    terminal: Option<Rc<Terminal>>,
    near: [OwnedFd; 3],
}

fn resources(error: &io::Error) -> StartFailure {
    StartFailure { errno: error.raw_os_error().unwrap_or(libc::EIO), stage: StartStage::Resources }
}

fn cancelled() -> StartFailure {
    StartFailure { errno: libc::ECANCELED, stage: StartStage::Cancelled }
}

fn invalid() -> StartFailure {
    StartFailure { errno: libc::EINVAL, stage: StartStage::Exec }
}

impl Worker {
    /// Starts a command, or says why not.
    pub fn start(&mut self, id: CommandId, start: Start) {
        if id == 0 || self.commands.contains_key(&id) {
            return;
        }
        // Bytes may be right behind.
        self.link.open_incoming(StreamId { command: id, channel: Channel::Stdin }, 0);
        let result = match self.ending {
            Some(_) => Err(cancelled()),
            None => self.launch(id, start),
        };
        if let Err(failure) = result {
            self.refuse(id, failure);
        }
    }

    fn launch(&mut self, id: CommandId, start: Start) -> Result<(), StartFailure> {
        let image = image(&start, self.ambient.environment().clone(), &self.ambient.directory(&start.cwd))?;
        let streams = self.streams(id, &start.stdio).map_err(|error| resources(&error))?;
        let terminal = streams.terminal.is_some();
        let launch = self.hand_over(image, streams.near, terminal, start.prepared, 0);
        let launch = launch.and_then(|launch| self.watch(id, launch)).map_err(|error| resources(&error))?;
        let command = Command {
            argv: start.argv,
            stdio: start.stdio,
            grace: Duration::from_millis(start.grace_ms.into()),
            start_time: launch.start_time(),
            phase: Phase::Starting(Box::new(launch)),
            leader: None,
            member: None,
            ladder: Ladder::default(),
            stdin: streams.stdin,
            outputs: streams.outputs,
            terminal: streams.terminal,
        };
        self.commands.insert(id, command);
        Ok(())
    }

    fn hand_over(
        &mut self,
        image: ExecImage,
        near: [OwnedFd; 3],
        terminal: bool,
        chosen: Option<u32>,
        attempts: u32,
    ) -> io::Result<Launch> {
        let mut attempts = attempts;
        let mut chosen = chosen;
        loop {
            attempts += 1;
            let prepared = self.pool.take(chosen.take(), self.now, &self.poller)?;
            let pid = prepared.pid;
            let error = match prepared.start(&image, near.each_ref().map(AsFd::as_fd), terminal) {
                Ok(starting) => return Ok(Launch { starting, image, near, terminal, attempts }),
                Err(error) => error,
            };
            self.pool.give_up(pid);
            self.look = true;
            if error.raw_os_error() != Some(libc::EPIPE) || attempts >= ATTEMPTS {
                return Err(error);
            }
        }
    }

    fn streams(&mut self, id: CommandId, wanted: &Stdio) -> io::Result<Streams> {
        match wanted {
            Stdio::Pipes { stdin, stdout, stderr } => {
                let (near_in, far_in) = if *stdin {
                    let (read, write) = pipe::pair()?;
                    stdio::set_nonblocking(&write)?;
                    (read, Some(Far::Pipe(write)))
                } else {
                    (stdio::null()?, None)
                };
                let (out, near_out) = self.output(id, 0, stdout)?;
                let (err, near_err) = self.output(id, 1, stderr)?;
                Ok(Streams {
                    stdin: Input::new(far_in),
                    outputs: [Some(out), Some(err)],
                    terminal: None,
                    near: [near_in, near_out, near_err],
                })
            }
            Stdio::Terminal { rows, cols } => {
                let (terminal, near) = Terminal::open(*rows, *cols)?;
                let terminal = Rc::new(terminal);
                let far = || Far::Terminal(Rc::clone(&terminal));
                Ok(Streams {
                    stdin: Input::new(Some(far())),
                    outputs: [Some(Output::new(far(), false, None)), None],
                    near: [near.try_clone()?, near.try_clone()?, near],
                    terminal: Some(terminal),
                })
            }
        }
    }

    fn output(&self, id: CommandId, index: usize, wanted: &control::Output) -> io::Result<(Output, OwnedFd)> {
        let (read, write) = pipe::pair()?;
        stdio::set_nonblocking(&read)?;
        let (drained, spill) = match wanted {
            control::Output::Raw => (false, None),
            control::Output::Drained { spill } => (true, spill.as_ref()),
        };
        let spill = spill.map(|spill| Spill::new((id, index), self.spill_path(id, index), spill));
        Ok((Output::new(Far::Pipe(read), drained, spill), write))
    }

    fn spill_path(&self, id: CommandId, index: usize) -> PathBuf {
        let name = if index == 0 { "stdout" } else { "stderr" };
        state::spill_directory(&self.root, self.link.epoch()).join(format!("{id}-{name}.log"))
    }

    /// There is news of a start.
    pub fn on_report(&mut self, id: CommandId) {
        let Some(command) = self.commands.get_mut(&id) else { return };
        let Phase::Starting(launch) = &command.phase else { return };
        let Some(outcome) = launch.starting.outcome() else { return };
        self.poller.remove(launch.starting.report());
        let Phase::Starting(launch) = std::mem::replace(&mut command.phase, Phase::Running) else { return };
        match outcome {
            Outcome::Started => self.confirm(id, *launch),
            Outcome::Failed(failure) => {
                // It has said its last word and is leaving.
                launch.starting.discard();
                self.forget_failed(id);
                self.refuse(id, start_failure(failure));
            }
            Outcome::Untouched if command.ladder.is_begun() => {
                launch.starting.discard();
                self.forget_failed(id);
                self.refuse(id, cancelled());
            }
            Outcome::Untouched => self.try_again(id, *launch),
        }
    }

    fn try_again(&mut self, id: CommandId, launch: Launch) {
        let Launch { starting, image, near, terminal, attempts } = launch;
        starting.discard();
        let result = if attempts >= ATTEMPTS {
            Err(io::Error::from_raw_os_error(libc::EAGAIN))
        } else {
            self.hand_over(image, near, terminal, None, attempts)
        };
        match result.and_then(|launch| self.watch(id, launch)) {
            Ok(launch) => {
                if let Some(command) = self.commands.get_mut(&id) {
                    command.start_time = launch.start_time();
                    command.phase = Phase::Starting(Box::new(launch));
                }
            }
            Err(error) => {
                self.forget_failed(id);
                self.refuse(id, resources(&error));
            }
        }
    }

    /// Waits for news of a start. Unwatched it could never be confirmed, but it has its program: so it is ended.
    fn watch(&self, id: CommandId, launch: Launch) -> io::Result<Launch> {
        match self.poller.add(launch.starting.report(), Token::Report(id), Interest::Readable) {
            Ok(()) => Ok(launch),
            Err(error) => {
                launch.starting.discard();
                Err(error)
            }
        }
    }

    fn confirm(&mut self, id: CommandId, launch: Launch) {
        let Launch { starting, near, .. } = launch;
        // The program has its own copies; ours would keep its streams open for ever.
        drop(near);
        let spill: [Option<ByteBuf>; 2] = [0, 1].map(|index| {
            let output = self.commands.get(&id)?.outputs[index].as_ref()?;
            output.spill.as_ref()?;
            let path = self.spill_path(id, index);
            Some(ByteBuf::from(process::lookup::path_bytes(path)))
        });
        let Some(command) = self.commands.get_mut(&id) else { return };
        let (pid, start_time) = (starting.pid, command.start_time);
        // What cannot be watched would never be known to have ended; descriptors for it were there at the start.
        let _ = self.poller.add(&starting.pidfd, Token::Leader(id), Interest::Readable);
        command.leader = Some((pid, starting.pidfd));
        self.link.send(id, &FromSupervisor::Started { pid: pid.as_raw_pid().cast_unsigned(), start_time, spill });
        for index in [0, 1] {
            let Some(file) = command.outputs[index].as_ref().and_then(Output::file) else { continue };
            let stream = StreamId { command: id, channel: channel_of(index) };
            let token = if index == 0 { Token::Stdout(id) } else { Token::Stderr(id) };
            let interest = if command.terminal.is_some() { Interest::Newly } else { Interest::NewlyReadable };
            let _ = self.poller.add(file, token, interest);
            self.link.open_outgoing(stream, 0);
        }
        if let Some(file @ Far::Pipe(_)) = command.stdin.file() {
            let _ = self.poller.add(file, Token::Stdin(id), Interest::NewlyWritable);
        }
        // A termination that was kept begins now.
        if let Ladder::Asked { .. } = command.ladder {
            command.ladder = Ladder::Due;
        }
        self.flush_stdin(id);
    }

    /// Says that a command did not start; its streams end with it.
    fn refuse(&mut self, id: CommandId, failure: StartFailure) {
        self.link.close_incoming(StreamId { command: id, channel: Channel::Stdin });
        for channel in [Channel::Stdout, Channel::Stderr] {
            let stream = StreamId { command: id, channel };
            self.link.open_outgoing(stream, 0);
            self.link.end_outgoing(stream, StreamEnd { offset: 0, reason: EndReason::Closed, spilled: false });
        }
        self.link.send(id, &FromSupervisor::StartFailed(failure));
        self.finished.push(id);
    }

    fn forget_failed(&mut self, id: CommandId) {
        if let Some(mut command) = self.commands.remove(&id) {
            command.stdin.close(&self.poller);
        }
    }
}

fn image(start: &Start, mut environment: Environment, cwd: &[u8]) -> Result<ExecImage, StartFailure> {
    let changes: Vec<(Vec<u8>, Change)> = start
        .env
        .iter()
        .map(|(name, value)| {
            let change = value.as_ref().map_or(Change::Remove, |value| Change::Set(value.to_vec()));
            (name.to_vec(), change)
        })
        .collect();
    environment.apply(&changes).map_err(|_| invalid())?;
    let argv: Vec<Vec<u8>> = start.argv.iter().map(|argument| argument.to_vec()).collect();
    ExecImage::new(&argv, &environment, Some(cwd)).map_err(|_| invalid())
}

fn start_failure(failure: Failure) -> StartFailure {
    let stage = match failure.stage {
        Stage::Setup => StartStage::Resources,
        Stage::Chdir => StartStage::Cwd,
        Stage::Exec => StartStage::Exec,
    };
    StartFailure { errno: failure.errno, stage }
}
