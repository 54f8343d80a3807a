//! The environment of a login shell, for hosts that want one (`loginEnvironment`).

use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use process::environment::{Change, Environment};
use process::image::ExecImage;
use process::spawn::{Started, spawn};
use process::{exit, pipe, stdio, terminate};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// How long profile files may take. Nothing else happens meanwhile: it is the very first thing that is done.
const PATIENCE: Duration = Duration::from_secs(5);
/// Longest environment that is taken.
const LONGEST: u64 = 8 * 1024 * 1024;
/// What each shell sets for itself, and no profile means.
const INVENTED: [&[u8]; 4] = [b"PWD", b"OLDPWD", b"SHLVL", b"_"];
/// Prints what the shell exports, entries ending in NUL.
const SCRIPT: &[u8] = b"exec cat /proc/self/environ";

/// What a login shell started with `ambient` in `home` exports; `None` when it does not say so in time.
pub fn environment(ambient: &Environment, shell: &[u8], home: &[u8]) -> Option<Environment> {
    let argv = [shell.to_vec(), b"-l".to_vec(), b"-c".to_vec(), SCRIPT.to_vec()];
    let image = ExecImage::new(&argv, ambient, Some(home)).ok()?;
    let (read, write) = pipe::pair().ok()?;
    let null = stdio::null().ok()?;
    let streams = [null.as_fd(), write.as_fd(), null.as_fd()];
    let started = spawn(image, streams, false, &process::Settings::default()).ok()?;
    drop(write);
    let text = read_in_time(read);
    end(&started);
    let mut environment = Environment::from_entries(text?.split(|&byte| byte == 0));
    let changes = INVENTED.map(|name| {
        let change = ambient.get(name).map_or(Change::Remove, |value| Change::Set(value.to_vec()));
        (name.to_vec(), change)
    });
    environment.apply(&changes).ok()?;
    environment.get(b"PATH").is_some().then_some(environment)
}

fn read_in_time(pipe: OwnedFd) -> Option<Vec<u8>> {
    let deadline = Instant::now() + PATIENCE;
    let mut text = Vec::new();
    let mut file = std::fs::File::from(pipe);
    loop {
        let left = deadline.checked_duration_since(Instant::now())?;
        let timeout = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() };
        if poll(&mut [PollFd::new(&file, PollFlags::IN)], Some(&timeout)).ok()? == 0 {
            return None;
        }
        let mut buffer = [0; 4096];
        match file.read(&mut buffer).ok()? {
            0 => return Some(text),
            count => text.extend_from_slice(&buffer[..count]),
        }
        if text.len() as u64 > LONGEST {
            return None;
        }
    }
}

fn end(started: &Started) {
    let _ = terminate::kill(&[started.pid]);
    let _ = exit::reap_blocking(started.pid);
}
