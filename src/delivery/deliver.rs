//! Which way a supervisor gets to run, and what is remembered of it.

use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::envd::{Envd, Error};

use super::{
    attachment::Attachment,
    binary::SupervisorBinary,
    direct,
    error::DeliveryError,
    first_word::{Mute, first_word, in_time},
    running::Running,
    script,
    uploading::Uploading,
};

/// What to deliver, and where.
#[derive(Clone, Debug)]
pub struct DeliverySettings {
    /// The builds, the likeliest first. May be empty when `installed` is set.
    pub binaries: Vec<SupervisorBinary>,
    /// Path of a supervisor that the image brings (`supervisorPath`): nothing is uploaded then.
    pub installed: Option<String>,
    /// Private folder in the sandbox that holds the binary; absolute. It is made (0700) when it is missing.
    pub root: String,
    /// Arguments of the supervisor: `join DIR`. They are visible to everyone in the sandbox.
    pub argv: Vec<String>,
    /// Bound for one attempt, from its first request to the supervisor's first word.
    pub timeout: Duration,
    /// What is started and has all that it needs is given up after saying nothing for this long.
    pub silence: Duration,
}

/// The deliverer for one sandbox. Attempts may overlap.
#[derive(Debug)]
pub struct Delivery {
    envd: Envd,
    settings: DeliverySettings,
    known: Mutex<Known>,
}

/// What earlier attempts taught.
#[derive(Clone, Debug, Default)]
struct Known {
    /// Where an executable supervisor was.
    path: Option<String>,
    /// Where one may have been left: each way has a path of its own, and one may be taken after another.
    brought: BTreeSet<String>,
    /// Which of the builds this machine runs.
    binary: usize,
    /// There is no shell.
    no_shell: bool,
    /// How many attempts in a row were given up as silent.
    silent: u32,
}

/// How often a binary is brought that is not there when it is to be started: other harnesses that end remove it.
const ATTEMPTS: u32 = 5;
/// After so many silent attempts each further one gets twice the time of the one before: perhaps the sandbox is slow.
const SILENT: u32 = 2;

impl Delivery {
    /// A deliverer that has not tried anything yet.
    pub fn new(envd: Envd, settings: DeliverySettings) -> Self {
        let known = Known { path: settings.installed.clone(), ..Known::default() };
        Self { envd, settings, known: Mutex::new(known) }
    }

    /// Starts a `join`, bringing the supervisor there first if need be, and waits for its first word.
    ///
    /// # Errors
    /// [`DeliveryError`]. Nothing of the attempt goes on running for long then.
    pub async fn attach(&self) -> Result<Attachment, DeliveryError> {
        let running = Running::new(self.envd.clone());
        let bound = self.settings.timeout;
        let outcome = tokio::time::timeout(bound, self.by_the_shortest_way(&running)).await;
        let outcome = outcome.unwrap_or(Err(DeliveryError::Silent(bound)));
        match &outcome {
            Ok(_) => {
                running.forget();
                self.known().silent = 0;
            }
            Err(DeliveryError::Silent(_)) => self.known().silent += 1,
            Err(_) => {}
        }
        outcome
    }

    /// Removes the binaries that were delivered; their running processes do not need them.
    ///
    /// # Errors
    /// [`Error`] of the daemon.
    pub async fn remove(&self) -> Result<(), Error> {
        let brought = {
            let mut known = self.known();
            known.path.clone_from(&self.settings.installed);
            std::mem::take(&mut known.brought)
        };
        let removals = brought.iter().map(|path| self.envd.remove(path));
        futures_util::future::join_all(removals).await.into_iter().collect()
    }

    pub(super) fn settings(&self) -> &DeliverySettings {
        &self.settings
    }

    pub(super) fn envd(&self) -> &Envd {
        &self.envd
    }

    /// The build that runs in this sandbox, as far as is known.
    pub(super) fn known_binary(&self) -> Result<&SupervisorBinary, DeliveryError> {
        let index = self.known().binary;
        self.settings.binaries.get(index).ok_or_else(|| DeliveryError::Package("there is no build in it".into()))
    }

    /// How long something that has all it needs may say nothing.
    fn patience(&self) -> Duration {
        let silent = self.known().silent;
        self.settings.silence.saturating_mul(1 << silent.saturating_sub(SILENT).min(16))
    }

    #[cfg(test)]
    pub(super) fn pretend_no_shell(&self) {
        self.known().no_shell = true;
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn by_the_shortest_way(&self, running: &Running) -> Result<Attachment, DeliveryError> {
        let known = self.known().clone();
        if let Some(path) = &known.path {
            let word = first_word(&self.envd, direct::program(path, &self.settings.argv), path, running);
            match in_time(self.patience(), word).await {
                // It was removed meanwhile.
                Err(Mute::NotStarted(_) | Mute::NotThere(_)) if self.settings.installed.is_none() => {
                    self.known().path = None;
                }
                outcome => return outcome.map_err(Mute::into_error),
            }
        }
        let mut tried = Vec::new();
        let mut index = known.binary;
        loop {
            let Some(binary) = self.settings.binaries.get(index) else {
                return Err(DeliveryError::Package("there is no build in it".into()));
            };
            tried.push(index);
            match self.bring(binary, running).await {
                Ok((attachment, path)) => {
                    let mut known = self.known();
                    known.path = Some(path);
                    known.binary = index;
                    return Ok(attachment);
                }
                Err(Mute::OtherMachine(name)) => {
                    let other = self.settings.binaries.iter().position(|binary| binary.machine.name() == name);
                    index = other.filter(|other| !tried.contains(other)).ok_or(DeliveryError::Machine(name))?;
                }
                Err(mute) => return Err(mute.into_error()),
            }
        }
    }

    /// Brings one build there: in parallel first, then step by step.
    async fn bring(&self, binary: &SupervisorBinary, running: &Running) -> Result<(Attachment, String), Mute> {
        if self.known().no_shell {
            return self.step_by_step(binary, running).await;
        }
        let path = self.in_root(&binary.file_name());
        let compressed = self.envd.takes_gzip();
        // Even if it never speaks.
        self.known().brought.insert(path.clone());
        let mut outcome = self.in_parallel(binary, &path, compressed, running).await;
        for attempt in 1..ATTEMPTS {
            let compressed = match outcome {
                // The server took the body but stored something else, or the shell gave up before a slow upload was through.
                Err(Mute::NoUpload) if attempt == 1 => false,
                Err(Mute::NotThere(_)) => compressed,
                _ => break,
            };
            outcome = self.in_parallel(binary, &path, compressed, running).await;
        }
        match outcome {
            Ok(attachment) => Ok((attachment, path)),
            Err(Mute::NotStarted(DeliveryError::CannotExecute(text))) if text.contains(&path) => {
                Err(Mute::Failed(DeliveryError::CannotExecute(text)))
            }
            Err(Mute::NotStarted(error)) => {
                tracing::debug!(%error, "no shell in the sandbox");
                let outcome = self.step_by_step(binary, running).await;
                self.known().no_shell = outcome.is_ok();
                outcome
            }
            Err(mute) => Err(mute),
        }
    }

    async fn in_parallel(
        &self,
        binary: &SupervisorBinary,
        path: &str,
        compressed: bool,
        running: &Running,
    ) -> Result<Attachment, Mute> {
        let upload_path = self.upload_path(binary)?;
        let start = script::start(&self.settings.root, path, &upload_path, binary, &self.settings.argv);
        // The shell removes the file as well, but not one that came after it had found the binary, or that it never saw whole.
        Uploading::begin(&self.envd, &upload_path, binary, compressed)
            .beside(self.patience(), first_word(&self.envd, start, path, running))
            .await
    }

    async fn step_by_step(&self, binary: &SupervisorBinary, running: &Running) -> Result<(Attachment, String), Mute> {
        let path = self.upload_path(binary)?;
        let mut uploading = Uploading::begin(&self.envd, &path, binary, self.envd.takes_gzip());
        uploading.done().await.map_err(Mute::Failed)?;
        let start = direct::start(&self.envd, &path, &self.settings.argv, running);
        let attachment = in_time(self.patience(), async { start.await.map_err(Mute::Failed) }).await?;
        uploading.keep();
        self.known().brought.insert(path.clone());
        Ok((attachment, path))
    }

    fn in_root(&self, name: &str) -> String {
        format!("{}/{name}", self.settings.root.trim_end_matches('/'))
    }

    /// A name that no other harness uses.
    fn upload_path(&self, binary: &SupervisorBinary) -> Result<String, Mute> {
        let random = getrandom::u64().map_err(|error| Mute::Failed(DeliveryError::Package(error.to_string())))?;
        Ok(self.in_root(&format!("{}-{random:016x}", binary.file_name())))
    }
}
