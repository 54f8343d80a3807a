//! A program in a pseudo-terminal (C50–C57, C72).

use std::{
    io,
    os::fd::AsFd as _,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use process::pty::{ForegroundError, Signalled, Terminal};
use protocol::control::{OutputChannel, StartFailure};
use tokio::runtime::Handle;

use super::{
    attend::{Streams, attend},
    flow::Flow,
    kin::Kin,
    leader::Leader,
    life::{Held, Unread},
    living::Living,
    numbers,
    reader::{Reader, Sink},
    start::{self, Program},
};
use crate::session::{command::Command, failure::Failure, input::Shortcut, request::Answer};

/// What a kernel says to a signal that it does not know.
const EINVAL: i32 = 22;

/// Opens a terminal with `program` in it for `command`. What happens, a failed start included, `command` tells.
pub fn open(
    runtime: &Handle,
    living: &Arc<Living>,
    command: &Arc<Command>,
    program: &Program,
    rows: u16,
    columns: u16,
) {
    if let Err(failure) = try_open(runtime, living, command, program, rows, columns) {
        start::fail(command, failure);
    }
}

fn try_open(
    runtime: &Handle,
    living: &Arc<Living>,
    command: &Arc<Command>,
    program: &Program,
    rows: u16,
    columns: u16,
) -> Result<(), StartFailure> {
    let (terminal, near) = Terminal::open(rows, columns).map_err(start::resources)?;
    let copy = || terminal.as_fd().try_clone_to_owned().map_err(start::resources);
    let (source, target) = (copy()?, copy()?);
    let near = near.as_fd();
    let started = start::exec(program, [near, near, near], true)?;
    let flow = Arc::new(Flow::default());
    let reader = Reader {
        command: Arc::clone(command),
        channel: OutputChannel::Stdout,
        flow: Arc::clone(&flow),
        sink: Sink::Queue,
        terminal: true,
    };
    let reading = Unread { reader, source, held: Held::CutAtOnce };
    let far = Arc::new(Far { terminal: Mutex::new(Some(terminal)), flow: Arc::clone(&flow), kin: Kin::default() });
    command.set_shortcut(Arc::clone(&far) as Arc<dyn Shortcut>);
    let streams =
        Streams { flows: [Some(flow), None], readings: vec![reading], input: Some(target), terminal: Some(far) };
    attend(runtime, living, command, program.grace, started, streams);
    Ok(())
}

/// The far end of a terminal, as long as it is open, and who left its session.
#[derive(Debug)]
pub struct Far {
    terminal: Mutex<Option<Terminal>>,
    /// Its output.
    flow: Arc<Flow>,
    /// Descendants in other sessions.
    pub kin: Kin,
}

impl Far {
    fn lock(&self) -> MutexGuard<'_, Option<Terminal>> {
        self.terminal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its program has exited: its output ends, unless somebody else still has the terminal open.
    pub fn program_exited(&self) {
        if let Some(terminal) = &mut *self.lock() {
            terminal.program_exited();
        }
    }

    /// Everything is over: the descriptor goes.
    pub fn close(&self) {
        self.lock().take();
    }

    /// Which group is in front and whether it waits for input. Blocks for a pass over `/proc`.
    pub fn inspect(&self, leader: &Leader) -> Answer {
        let _ = self.look(leader);
        let foreground = self.lock().as_ref().and_then(|terminal| Some((terminal.foreground()?, terminal.device())));
        let foreground = foreground.map(|(group, device)| {
            (group.as_raw_pid().cast_unsigned(), process::waiting::input_waiting(leader.pid(), group, device))
        });
        Answer::Foreground(foreground)
    }

    /// Waits until JavaScript has been given what it shows now.
    pub async fn shown(&self) {
        self.flow.given_until_now().await;
    }

    /// Signals the group in front and gives its id. Blocks for a pass over `/proc`.
    ///
    /// # Errors
    /// When there is none, it is not to be signalled so, or the system refuses.
    pub fn signal(&self, leader: &Leader, signal: u8) -> Result<Answer, Failure> {
        let signal = numbers::signal(signal).ok_or(Failure::Signal(EINVAL))?;
        let _ = self.look(leader);
        let sent =
            leader.while_kept(|pid| self.lock().as_ref().map(|terminal| terminal.signal_foreground(pid, signal)));
        match sent.flatten() {
            Some(Ok(Signalled { group, reached: true, .. })) => Ok(Answer::Group(group.as_raw_pid().cast_unsigned())),
            Some(Ok(Signalled { reached: false, .. })) => Err(Failure::Signal(numbers::error(libc::EPERM))),
            None | Some(Err(ForegroundError::Unresolved)) => Err(Failure::NoForeground),
            Some(Err(ForegroundError::OwnShell)) => Err(Failure::OwnShell),
            Some(Err(ForegroundError::Refused(error))) => {
                Err(Failure::Signal(numbers::error(error.raw_os_error().unwrap_or(libc::EIO))))
            }
        }
    }

    /// Looks who left the session. Blocks for a pass over `/proc`.
    ///
    /// # Errors
    /// When `/proc` can't be read.
    pub fn look(&self, leader: &Leader) -> io::Result<()> {
        self.kin.look(leader.pid(), leader.while_kept(|pid| pid))
    }
}

/// A key is seen later by as long as another thread takes to wake; so what can be typed at once is.
impl Shortcut for Far {
    fn write(&self, bytes: &[u8]) -> usize {
        // Whoever has it may take his time. What does not go now the writer tries again, and hears why.
        let Ok(terminal) = self.terminal.try_lock() else { return 0 };
        terminal.as_ref().and_then(|terminal| terminal.write(bytes).ok()).unwrap_or(0)
    }

    fn resize(&self, rows: u16, columns: u16) {
        if let Some(terminal) = &*self.lock() {
            // A terminal that is being hung up has no size any more.
            let _ = terminal.resize(rows, columns);
        }
    }
}
