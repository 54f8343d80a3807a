//! Upload, then start, without a shell: for sandboxes that have none.

use std::time::Duration;

use crate::envd::{Envd, Event, Start};

use super::{
    attachment::Attachment,
    error::DeliveryError,
    first_word::{Mute, first_word},
    running::Running,
};

/// Executing a file that the daemon has not closed yet fails (`ETXTBSY`): a few more attempts then.
const ATTEMPTS: u32 = 5;
/// Before the second attempt; longer before each further one.
const PAUSE: Duration = Duration::from_millis(20);

/// Starts the binary that was uploaded to `path`.
pub(super) async fn start(
    envd: &Envd,
    path: &str,
    argv: &[String],
    running: &Running,
) -> Result<Attachment, DeliveryError> {
    make_executable(envd, path).await?;
    let mut attempt = 1;
    loop {
        match first_word(envd, program(path, argv), path, running).await {
            Ok(attachment) => return Ok(attachment),
            Err(Mute::NotStarted(error)) if attempt < ATTEMPTS && error.to_string().contains("ext file busy") => {
                tokio::time::sleep(PAUSE * attempt).await;
                attempt += 1;
            }
            Err(mute) => return Err(mute.into_error()),
        }
    }
}

/// The request that starts a supervisor that is there.
pub(super) fn program(path: &str, argv: &[String]) -> Start {
    Start { cmd: path.to_owned(), args: argv.to_vec(), cwd: Some("/".into()), ..Start::default() }
}

/// The daemon stores files with mode 0644. Where there is no `chmod` either, the start itself tells what is wrong.
async fn make_executable(envd: &Envd, path: &str) -> Result<(), DeliveryError> {
    let chmod = Start {
        cmd: "chmod".into(),
        args: vec!["700".into(), path.to_owned()],
        cwd: Some("/".into()),
        ..Start::default()
    };
    let Ok(mut process) = envd.start(chmod).await else { return Ok(()) };
    while !matches!(process.output.next().await?, Some(Event::Ended(_)) | None) {}
    Ok(())
}
