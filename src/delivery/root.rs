//! What only root may do: ending a process of another user.

use crate::envd::{Envd, Event, Start, Upload};

use super::{deliver::Delivery, error::DeliveryError};

/// Runs the copy of an upload (the daemon may hold the upload itself open for writing) and removes both.
const RUN_ONCE: &str =
    r#"umask 077; cp "$1" "$1.x" && chmod 700 "$1.x" && "$1.x" kill "$2" "$3"; s=$?; rm -f "$1" "$1.x"; exit $s"#;

impl Delivery {
    /// Sends SIGKILL to a process of any user, if it is the one that started at `start_time` (clock ticks since boot).
    ///
    /// What root executes is never the sandbox user's own file, which any program of his could have replaced: it is the
    /// image's supervisor, or one that is brought to root's home for this once.
    ///
    /// # Errors
    /// [`DeliveryError`]: the daemon does not allow it, or the process could not be signalled.
    pub async fn kill_as_root(&self, pid: u32, start_time: u64) -> Result<(), DeliveryError> {
        let root = self.envd().as_user("root")?;
        let (pid, start_time) = (pid.to_string(), start_time.to_string());
        if let Some(path) = &self.settings().installed {
            let args = vec!["kill".into(), pid, start_time];
            return run(&root, Start { cmd: path.clone(), args, cwd: Some("/".into()), ..Start::default() }).await;
        }
        let binary = self.known_binary()?;
        let random = getrandom::u64().map_err(|error| DeliveryError::Package(error.to_string()))?;
        let path = format!("/root/{}-{random:016x}", binary.file_name());
        let upload =
            if root.takes_gzip() { Upload::Gzip(binary.gzip.clone()) } else { Upload::Form(binary.unpacked()?) };
        root.upload(&path, upload).await?;
        let args = ["-c", RUN_ONCE, "sh", &path, &pid, &start_time].map(String::from).to_vec();
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
