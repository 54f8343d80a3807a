//! What the tests of this crate share: child fixtures, waiting with a deadline, a pid namespace for risky tests.

use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
#[cfg(target_os = "linux")]
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Pid;

use crate::child::{Failure, Settings};
use crate::environment::Environment;
use crate::exit::{self, Exit};
use crate::image::ExecImage;
use crate::pidfd::PidFd;
#[cfg(target_os = "linux")]
use crate::prepared::{Outcome, Prepared};
use crate::spawn::{SpawnError, spawn};
use crate::{pipe, stdio, table, terminate};

const DEADLINE: Duration = Duration::from_secs(20);

/// The two ways to start a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Clone,
    #[cfg(target_os = "linux")]
    Prepared,
}

/// A running child; its whole session is killed when it is dropped.
pub struct Fixture {
    pub pid: Pid,
    pub pidfd: PidFd,
}

impl Fixture {
    pub fn shell(script: &str) -> Self {
        Self::run(&["/bin/bash", "-c", script])
    }

    pub fn run(argv: &[&str]) -> Self {
        let environment = Environment::of_this_process();
        Self::started(Way::Clone, argv, &environment)
    }

    pub fn started(way: Way, argv: &[&str], environment: &Environment) -> Self {
        Self::started_with(way, argv, environment, &stdio::null().unwrap())
    }

    pub fn started_with(way: Way, argv: &[&str], environment: &Environment, output: &OwnedFd) -> Self {
        let null = stdio::null().unwrap();
        let (pid, pidfd) =
            start(way, image(argv, environment, None), [&null, output, &null], &Settings::default()).unwrap();
        Self { pid, pidfd }
    }

    pub fn output(way: Way, argv: &[&str], environment: &Environment, cwd: Option<&str>) -> Result<String, Failure> {
        Self::output_with(way, argv, environment, cwd, &Settings::default())
    }

    pub fn output_with(
        way: Way,
        argv: &[&str],
        environment: &Environment,
        cwd: Option<&str>,
        settings: &Settings,
    ) -> Result<String, Failure> {
        let null = stdio::null().unwrap();
        let (read, write) = pipe::pair().unwrap();
        let (pid, pidfd) = start(way, image(argv, environment, cwd), [&null, &write, &null], settings)?;
        let child = Self { pid, pidfd };
        drop(write);
        let mut text = String::new();
        std::fs::File::from(read).read_to_string(&mut text).unwrap();
        child.join();
        Ok(text)
    }

    pub fn wait_for(&self, what: &str, condition: impl FnMut() -> bool) {
        wait_for(what, condition);
    }

    pub fn wait_until_ended(&self) {
        wait_for("the child's end", || !self.pidfd.is_alive());
    }

    pub fn join(self) -> Exit {
        self.wait_until_ended();
        // While its number is still its own.
        let _ = terminate::kill(&[self.pid]);
        exit::reap_blocking(self.pid).unwrap().unwrap()
    }

    pub fn kill(self) {}
}

impl Drop for Fixture {
    fn drop(&mut self) {
        // It may have been reaped; then the number is nobody's business any more.
        let ours = |stat: table::Stat| stat.parent == rustix::process::getpid().as_raw_pid();
        if table::stat(self.pid).is_ok_and(ours) {
            let _ = terminate::kill(&[self.pid]);
            let _ = exit::reap_blocking(self.pid);
        }
    }
}

pub fn wait_for(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !condition() {
        assert!(Instant::now() < deadline, "timed out waiting for {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

pub fn image(argv: &[&str], environment: &Environment, cwd: Option<&str>) -> ExecImage {
    let argv: Vec<Vec<u8>> = argv.iter().map(|argument| argument.as_bytes().to_vec()).collect();
    ExecImage::new(&argv, environment, cwd.map(str::as_bytes)).unwrap()
}

fn start(way: Way, image: ExecImage, stdio: [&OwnedFd; 3], settings: &Settings) -> Result<(Pid, PidFd), Failure> {
    let stdio = stdio.map(AsFd::as_fd);
    match way {
        Way::Clone => match spawn(image, stdio, false, settings) {
            Ok(started) => Ok((started.pid, started.pidfd)),
            Err(SpawnError::Child(failure)) => Err(failure),
            Err(error) => panic!("{error}"),
        },
        #[cfg(target_os = "linux")]
        Way::Prepared => {
            let starting = Prepared::fork(settings).unwrap().start(&image, stdio, false).unwrap();
            let mut outcome = None;
            wait_for("the outcome of the start", || {
                outcome = starting.outcome();
                outcome.is_some()
            });
            let (pid, pidfd) = (starting.pid, starting.pidfd);
            match outcome.unwrap() {
                Outcome::Started => Ok((pid, pidfd)),
                Outcome::Failed(failure) => {
                    exit::reap_blocking(pid).unwrap();
                    Err(failure)
                }
                Outcome::Untouched => panic!("the prepared process died"),
            }
        }
    }
}

/// A fresh directory under the system's temporary one.
pub fn scratch(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("process-test-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

#[cfg(target_os = "linux")]
/// True inside the namespace. Outside, runs the named test there, alone, checks that it passed, and gives false.
pub fn in_own_pid_namespace(test: &str) -> bool {
    const MARK: &str = "PROCESS_TEST_IN_NAMESPACE";
    if std::env::var_os(MARK).is_some() {
        return true;
    }
    let output = Command::new("unshare")
        .args(["--pid", "--fork", "--kill-child", "--mount-proc"])
        .arg(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env(MARK, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    false
}
