//! What only root may do: ending or signalling processes of another user.

use crate::envd::{Envd, Event, Start, Upload};

use super::{deliver::Delivery, error::DeliveryError};

/// Runs the copy of an upload (the daemon may hold the upload itself open for writing) and removes both.
const RUN_ONCE: &str =
    r#"umask 077; f=$1; shift; cp "$f" "$f.x" && chmod 700 "$f.x" && "$f.x" "$@"; s=$?; rm -f "$f" "$f.x"; exit $s"#;

impl Delivery {
    /// Sends SIGKILL to a process of any user, if it is the one that started at `start_time` (clock ticks since boot).
    ///
    /// # Errors
    /// [`DeliveryError`]: the daemon does not allow it, or the process could not be signalled.
    pub async fn kill_as_root(&self, pid: u32, start_time: u64) -> Result<(), DeliveryError> {
        self.run_as_root(vec!["kill".into(), pid.to_string(), start_time.to_string()]).await
    }

    /// Sends a signal to processes of any user, each by its id and its start.
    ///
    /// # Errors
    /// As [`Delivery::kill_as_root`].
    pub async fn signal_as_root(&self, signal: u8, members: &[(u32, u64)]) -> Result<(), DeliveryError> {
        let members = members.iter().flat_map(|(pid, start_time)| [pid.to_string(), start_time.to_string()]);
        self.run_as_root(["signal".into(), signal.to_string()].into_iter().chain(members).collect()).await
    }

    /// Runs a supervisor with these words.
    ///
    /// What root executes is never the sandbox user's own file, which any program of his could have replaced: it is the
    /// image's supervisor, or one that is brought to root's home for this once.
    async fn run_as_root(&self, words: Vec<String>) -> Result<(), DeliveryError> {
        let root = self.envd().as_user("root")?;
        if let Some(path) = &self.settings().installed {
            return run(&root, Start { cmd: path.clone(), args: words, cwd: Some("/".into()), ..Start::default() })
                .await;
        }
        let binary = self.known_binary()?;
        let random = getrandom::u64().map_err(|error| DeliveryError::Package(error.to_string()))?;
        let path = format!("/root/{}-{random:016x}", binary.file_name());
        let upload =
            if root.takes_gzip() { Upload::Gzip(binary.gzip.clone()) } else { Upload::Form(binary.unpacked()?) };
        root.upload(&path, upload).await?;
        let args = ["-c", RUN_ONCE, "sh", &path].map(String::from).into_iter().chain(words).collect();
        run(&root, Start { cmd: "/bin/sh".into(), args, cwd: Some("/".into()), ..Start::default() }).await
    }
}

/// Runs a program to its end, which must be a good one.
async fn run(envd: &Envd, start: Start) -> Result<(), DeliveryError> {
    let mut process = envd.start(start).await?;
    let mut stderr = Vec::new();
    loop {
        match process.output.next().await? {
            Some(Event::Ended(end)) if end.exit_code == 0 => return Ok(()),
            Some(Event::Ended(end)) => {
                let text = String::from_utf8_lossy(&stderr).trim().to_owned();
                let stderr = (!text.is_empty()).then_some(text);
                return Err(DeliveryError::Ended { exit_code: end.exit_code, status: end.status, stderr });
            }
            // One line of complaint is enough.
            Some(Event::Stderr(bytes)) if stderr.len() < 1024 => stderr.extend_from_slice(&bytes),
            Some(_) => {}
            None => return Err(DeliveryError::over()),
        }
    }
}
