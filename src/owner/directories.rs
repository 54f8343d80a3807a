//! The directories of a new sandbox: the shared one, and below it the private one, which must be a real directory of mode 0700.
//!
//! One `Start` of a shell line makes both and says what it found. Where the sandbox user may not make them, or there is no
//! shell, the daemon makes them first.

use std::time::Duration;

use super::error::OwnerError;
use crate::envd::{Envd, Error, Event, Kind, Made, Start};

/// The user may not make them: the daemon can.
const EXIT_DENIED: i32 = 91;
/// The private one is a link, or no directory.
const EXIT_NOT_REAL: i32 = 92;
/// Its mode cannot be set.
const EXIT_NOT_PRIVATE: i32 = 93;
/// What a daemon's own wrapper, or a shell, exits with when a program cannot be started.
const EXIT_NO_PROGRAM: [i32; 2] = [126, 127];

/// `mkdir -p` on the private one: the supervisor's delivery may make it at the same time. A link is looked for on both sides of
/// that, and never followed: the line leaves before it changes a mode. Where the daemon makes it for an upload, it is root's for a
/// moment.
const SCRIPT: &str = r#"
umask 022
cwd=$1 root=$2
mkdir -p "$cwd" 2>/dev/null || exit 91
[ ! -L "$root" ] || exit 92
mkdir -p -m 700 "$root" 2>/dev/null
[ ! -L "$root" ] || exit 92
if [ ! -d "$root" ]; then
  [ ! -e "$root" ] || exit 92
  exit 91
fi
left=20
while ! chmod 700 "$root" 2>/dev/null; do
  [ "$left" -gt 0 ] || { chmod 700 "$root"; exit 93; }
  left=$((left - 1))
  sleep 0.05 2>/dev/null || { left=0; sleep 1; }
done
"#;

/// Everything here can be done twice, so a lost connection is tried again.
const ATTEMPTS: u32 = 3;
const PAUSE: Duration = Duration::from_millis(200);
/// Of what a failed program wrote.
const MAX_STDERR: usize = 1000;

/// Makes them.
///
/// # Errors
/// [`OwnerError::RuntimeRoot`], [`OwnerError::Directories`].
pub(super) async fn make(envd: &Envd, cwd: &str, root: &str) -> Result<(), OwnerError> {
    let mut attempt = 1;
    loop {
        match once(envd, cwd, root).await {
            Err(Failure::Daemon(error)) if error.is_lost_link() && attempt < ATTEMPTS => {
                tracing::debug!(%error, attempt, "the directories are tried again");
                tokio::time::sleep(PAUSE * attempt).await;
                attempt += 1;
            }
            Err(Failure::Daemon(error)) => return Err(OwnerError::Directories(error.to_string())),
            Err(Failure::Owner(error)) => return Err(error),
            Ok(()) => return Ok(()),
        }
    }
}

enum Failure {
    Daemon(Error),
    Owner(OwnerError),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Daemon(error)
    }
}

impl From<OwnerError> for Failure {
    fn from(error: OwnerError) -> Self {
        Self::Owner(error)
    }
}

async fn once(envd: &Envd, cwd: &str, root: &str) -> Result<(), Failure> {
    let line = || shell(cwd, root);
    let (code, stderr) = match run(envd, line()).await {
        // Servers without a wrapper of their own say so when the shell is missing.
        Err(Error::Invalid(_) | Error::NotFound(_) | Error::Unsupported(_)) => (EXIT_NO_PROGRAM[1], String::new()),
        outcome => outcome?,
    };
    if code != EXIT_DENIED && !EXIT_NO_PROGRAM.contains(&code) {
        return judge(code, stderr, root);
    }
    by_the_daemon(envd, cwd, root).await?;
    let private = if code == EXIT_DENIED {
        line()
    } else {
        Start { cmd: "chmod".into(), args: vec!["700".into(), root.into()], cwd: Some("/".into()), ..Start::default() }
    };
    let (code, stderr) = run(envd, private).await?;
    judge(code, stderr, root)
}

/// The daemon acts as root and gives what it makes to the sandbox user.
async fn by_the_daemon(envd: &Envd, cwd: &str, root: &str) -> Result<(), Failure> {
    envd.make_dir(cwd).await?;
    match envd.make_dir(root).await {
        Ok(Made::New) => return Ok(()),
        Ok(Made::Existed) | Err(Error::Invalid(_)) => {}
        Err(error) => return Err(error.into()),
    }
    match envd.kind(root).await? {
        Kind::Directory => Ok(()),
        Kind::Link | Kind::Other => Err(OwnerError::RuntimeRoot(root.to_owned()).into()),
    }
}

fn judge(code: i32, stderr: String, root: &str) -> Result<(), Failure> {
    let failed = |text: String| Err(OwnerError::Directories(text).into());
    match code {
        0 => Ok(()),
        EXIT_NOT_REAL => Err(OwnerError::RuntimeRoot(root.to_owned()).into()),
        EXIT_DENIED => failed(format!("the sandbox user may not make {root}")),
        EXIT_NOT_PRIVATE => failed(format!("{root} cannot be made private: {stderr}")),
        _ => failed(format!("exit code {code}: {stderr}")),
    }
}

fn shell(cwd: &str, root: &str) -> Start {
    let args = ["-c", SCRIPT, "dsh-e2b", cwd, root].map(str::to_owned).to_vec();
    Start { cmd: "/bin/sh".into(), args, cwd: Some("/".into()), ..Start::default() }
}

/// Runs a program to its end: its exit code and what it wrote to stderr.
async fn run(envd: &Envd, start: Start) -> Result<(i32, String), Error> {
    let mut output = envd.start(start).await?.output;
    let mut stderr = Vec::new();
    loop {
        match output.next().await? {
            Some(Event::Stderr(bytes)) if stderr.len() < MAX_STDERR => stderr.extend_from_slice(&bytes),
            Some(Event::Stdout(_) | Event::Stderr(_)) => {}
            Some(Event::Ended(ended)) => {
                return Ok((ended.exit_code, String::from_utf8_lossy(&stderr).trim().to_owned()));
            }
            None => return Err(Error::Protocol("the process has no end".into())),
        }
    }
}

#[cfg(all(test, unix))]
#[path = "directories_tests.rs"]
mod tests;
