//! Starting boxes.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::{UnixListener, UnixStream as StdUnixStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::UnixStream;
use tokio::process::Command;

use super::boxed::Boxed;
use super::{Error, Isolation, Plan, accounts, control, root, shared, skeleton};

/// How long a box may take to get ready.
const PATIENCE: Duration = Duration::from_secs(20);

/// What boxes shall be like.
#[derive(Clone, Debug)]
pub struct Options {
    /// Further paths of the host that boxes see, read-only.
    pub show: Vec<PathBuf>,
    /// Whether to separate boxes from the host.
    pub isolate: bool,
    /// The soft limit of open descriptors inside; `None` is unlimited.
    pub descriptors: Option<u64>,
}

/// The maker of boxes: knows what works on this host and where state lies.
#[derive(Debug)]
pub struct Boxes {
    state: PathBuf,
    options: Options,
    isolation: Isolation,
    uid: u32,
    gid: u32,
}

impl Boxes {
    /// Finds the strongest isolation that works here, by building a box, and prepares the shared files below `state`,
    /// an existing directory of the caller's own.
    ///
    /// # Errors
    /// [`Error::NoIsolation`] when no kind works, [`Error::Prepare`] when `state` is not writable.
    pub async fn new(state: &Path, options: Options) -> Result<Self, Error> {
        let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        let read = |path| std::fs::read_to_string(path).unwrap_or_default();
        // The same number twice, as `useradd` does; free as user and as group.
        let free = accounts::free_id(&(read("/etc/passwd") + &read("/etc/group")));
        let state = state.canonicalize()?;
        let mut candidates = Vec::new();
        if !options.isolate {
            candidates.push((Isolation::Off, uid, gid));
        } else {
            if uid == 0 {
                candidates.push((Isolation::TwoUsers, free, free));
            }
            // The root of a container gets another number inside, where it is root of nothing.
            candidates.push(if uid == 0 { (Isolation::OneUser, free, free) } else { (Isolation::OneUser, uid, gid) });
        }
        root::check_state(&state, &options.show)?;
        let mut reasons = Vec::new();
        for (isolation, uid, gid) in candidates {
            let boxes = Self { state: state.clone(), options: options.clone(), isolation, uid, gid };
            shared::prepare(&boxes.shared(), isolation, uid, gid)?;
            match boxes.start("probe", BTreeMap::new()).await {
                Ok(probe) => {
                    probe.end().await;
                    return Ok(boxes);
                }
                // The root of a container may not even give files away.
                Err(Error::Prepare(error)) if isolation == Isolation::TwoUsers => reasons.push(error.to_string()),
                Err(Error::Build(words)) => reasons.push(words),
                Err(error) => return Err(error),
            }
        }
        Err(Error::NoIsolation(reasons.join("; ")))
    }

    /// What separates these boxes from the host.
    pub fn isolation(&self) -> Isolation {
        self.isolation
    }

    fn shared(&self) -> PathBuf {
        self.state.join("shared")
    }

    /// Builds and starts the box `name`, whose processes have the given variables; its daemon accepts connections from now on (it may still be starting).
    ///
    /// # Errors
    /// [`Error::Prepare`], [`Error::Build`] with the failed step, or [`Error::Slow`]; nothing is left behind.
    pub async fn start(&self, name: &str, variables: BTreeMap<String, String>) -> Result<Boxed, Error> {
        let dir = self.state.join(name);
        let started = self.start_in(&dir, variables).await;
        if started.is_err() {
            let _ = tokio::fs::remove_dir_all(&dir).await;
        }
        started
    }

    async fn start_in(&self, dir: &Path, variables: BTreeMap<String, String>) -> Result<Boxed, Error> {
        let user = match self.isolation {
            Isolation::Off => current_user(),
            _ => accounts::USER.to_owned(),
        };
        let plan = Plan {
            dir: dir.to_owned(),
            shared: self.shared(),
            isolation: self.isolation,
            show: self.options.show.clone(),
            descriptors: self.options.descriptors,
            uid: self.uid,
            gid: self.gid,
            user,
            variables,
        };
        let (dir_fd, listener) =
            tokio::task::spawn_blocking(move || prepare(&plan)).await.map_err(io::Error::other)??;
        let (ours, theirs) = StdUnixStream::pair()?;
        let mut monitor = Command::new("/proc/self/exe")
            .arg0("sandboxd")
            .arg("init")
            .arg(dir)
            .stdin(Stdio::from(OwnedFd::from(listener)))
            .stdout(Stdio::from(OwnedFd::from(theirs)))
            .spawn()?;
        ours.set_nonblocking(true)?;
        let mut control = BufReader::with_capacity(256, UnixStream::from_std(ours)?);
        let mut line = String::new();
        let answer = tokio::time::timeout(PATIENCE, control.read_line(&mut line)).await;
        let failure = match answer {
            Ok(Ok(_)) if line.trim_end() == control::READY => None,
            Ok(Ok(0)) => Some(Error::Build("it ended without a word".to_owned())),
            Ok(Ok(_)) => Some(Error::Build(line.trim_end().to_owned())),
            Ok(Err(error)) => Some(Error::Prepare(error)),
            Err(_) => Some(Error::Slow(PATIENCE.as_secs())),
        };
        let control = control.into_inner();
        if let Some(error) = failure {
            // Letting go of the control socket ends the monitor.
            drop(control);
            let _ = monitor.wait().await;
            return Err(error);
        }
        Ok(Boxed::new(dir.to_owned(), dir_fd, self.isolation, control, monitor))
    }
}

/// The box' directory and the socket of its daemon in it.
fn prepare(plan: &Plan) -> io::Result<(OwnedFd, UnixListener)> {
    std::fs::DirBuilder::new().mode(0o700).create(&plan.dir)?;
    skeleton::make(plan)?;
    let dir = rustix::fs::open(
        &plan.dir,
        rustix::fs::OFlags::PATH | rustix::fs::OFlags::DIRECTORY | rustix::fs::OFlags::CLOEXEC,
        rustix::fs::Mode::empty(),
    )?;
    let listener = UnixListener::bind(super::boxed::socket_path(&dir))?;
    listener.set_nonblocking(true)?;
    Ok((dir, listener))
}

/// The name of the caller's account, or its number if it has none.
fn current_user() -> String {
    let uid = nix::unistd::geteuid();
    nix::unistd::User::from_uid(uid).ok().flatten().map_or_else(|| uid.to_string(), |user| user.name)
}
