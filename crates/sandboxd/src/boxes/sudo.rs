//! The `sudo` of a box: this binary under that name, with set-uid root where there are two accounts.
//!
//! Everybody may become everybody without a password, as in E2B's images. With one account only, the command runs as
//! that account: what it could not do itself fails with the program's own words.

use std::ffi::{CString, OsString};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use nix::unistd::{Gid, User, geteuid, getuid, initgroups, setgid, setuid};

use super::pid1::PATH;

const USAGE: &str =
    "usage: sudo [-EHnSiskKv] [-u user] [-g group] [-p prompt] [--] [VAR=value ...] [command [arg ...]]\n";

/// What the command line asks for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Request {
    user: Option<String>,
    keep_environment: bool,
    login: bool,
    shell: bool,
    /// `-v`, `-k` and the like: nothing to run.
    nothing: bool,
    assignments: Vec<(String, OsString)>,
    command: Vec<OsString>,
}

/// Reads sudo's own options; `None` when they make no sense.
fn parse(arguments: impl Iterator<Item = OsString>) -> Option<Request> {
    let mut request = Request::default();
    let mut rest = arguments.peekable();
    while let Some(word) =
        rest.next_if(|word| word.to_str().is_some_and(|text| text.len() > 1 && text.starts_with('-')))
    {
        let word = word.into_string().ok()?;
        match word.as_str() {
            "--" => break,
            "--preserve-env" => request.keep_environment = true,
            "--non-interactive" | "--set-home" | "--stdin" => {}
            "--login" => request.login = true,
            "--shell" => request.shell = true,
            "--user" => request.user = Some(rest.next()?.into_string().ok()?),
            long if long.starts_with("--user=") => request.user = Some(long[7..].to_owned()),
            long if long.starts_with("--preserve-env=") => request.keep_environment = true,
            long if long.starts_with("--") => return None,
            short => flags(&mut request, &short[1..], &mut rest)?,
        }
    }
    while let Some(word) =
        rest.next_if(|word| word.to_str().is_some_and(|text| text.find('=').is_some_and(|at| at > 0)))
    {
        let word = word.into_string().ok()?;
        let (name, value) = word.split_once('=')?;
        request.assignments.push((name.to_owned(), value.into()));
    }
    request.command = rest.collect();
    let something = !request.command.is_empty() || request.login || request.shell || request.nothing;
    something.then_some(request)
}

/// A cluster of one-letter options, such as `-nu root`.
fn flags(request: &mut Request, cluster: &str, rest: &mut impl Iterator<Item = OsString>) -> Option<()> {
    for (at, letter) in cluster.char_indices() {
        match letter {
            'E' => request.keep_environment = true,
            'i' => request.login = true,
            's' => request.shell = true,
            'k' | 'K' | 'v' | 'l' => request.nothing = true,
            'H' | 'n' | 'S' | 'b' | 'A' | 'P' => {}
            'u' | 'g' | 'p' | 'C' | 'h' => {
                let tail = &cluster[at + 1..];
                let value = if tail.is_empty() { rest.next()?.into_string().ok()? } else { tail.to_owned() };
                if letter == 'u' {
                    request.user = Some(value);
                }
                return Some(());
            }
            _ => return None,
        }
    }
    Some(())
}

/// Runs `sudo` with the process' arguments; returns only on failure or when there is nothing to run.
pub fn main() -> ExitCode {
    match parse(std::env::args_os().skip(1)) {
        None => say(USAGE),
        Some(request) if request.nothing && request.command.is_empty() => ExitCode::SUCCESS,
        Some(request) => match run(request) {
            Ok(never) => match never {},
            Err(words) => say(&format!("sudo: {words}\n")),
        },
    }
}

fn say(words: &str) -> ExitCode {
    // Nothing else to do if standard error is closed.
    let _ = rustix::io::write(rustix::stdio::stderr(), words.as_bytes());
    ExitCode::FAILURE
}

fn account(name: &str) -> Result<User, String> {
    let found = match name.strip_prefix('#').and_then(|number| number.parse().ok()) {
        Some(number) => User::from_uid(nix::unistd::Uid::from_raw(number)),
        None => User::from_name(name),
    };
    found.map_err(|error| error.to_string())?.ok_or_else(|| format!("unknown user: {name}"))
}

fn run(request: Request) -> Result<std::convert::Infallible, String> {
    let caller_id = getuid();
    let caller = User::from_uid(caller_id).ok().flatten();
    let may_change = geteuid().is_root();
    let target = if may_change {
        account(request.user.as_deref().unwrap_or("root"))?
    } else {
        caller.clone().ok_or("the caller has no account")?
    };
    if may_change {
        let name = CString::new(target.name.as_str()).map_err(|error| error.to_string())?;
        let gid: Gid = target.gid;
        initgroups(&name, gid).map_err(|error| format!("initgroups: {error}"))?;
        setgid(gid).map_err(|error| format!("setgid: {error}"))?;
        setuid(target.uid).map_err(|error| format!("setuid: {error}"))?;
    }
    let mut command = if request.login || request.shell {
        let mut shell = Command::new(&target.shell);
        let name = target.shell.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if request.login {
            shell.arg0(format!("-{name}")).current_dir(&target.dir);
        }
        if !request.command.is_empty() {
            shell.arg("-c").arg(request.command.join(&OsString::from(" ")));
        }
        shell
    } else {
        let mut command = Command::new(&request.command[0]);
        command.args(&request.command[1..]);
        command
    };
    if !request.keep_environment {
        command.env_clear().env("PATH", PATH);
        for name in ["TERM", "LANG", "LC_ALL", "DISPLAY"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
    }
    command
        .env("HOME", &target.dir)
        .env("USER", &target.name)
        .env("LOGNAME", &target.name)
        .env("SHELL", &target.shell)
        .env("SUDO_UID", caller_id.to_string())
        .env("SUDO_USER", caller.map(|user| user.name).unwrap_or_default())
        .envs(request.assignments);
    let error = command.exec();
    let name = command.get_program().to_string_lossy().into_owned();
    Err(match error.kind() {
        std::io::ErrorKind::NotFound => format!("{name}: command not found"),
        _ => format!("{name}: {error}"),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed parse is a failed test")]

    use super::*;

    fn words(line: &str) -> Option<Request> {
        parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn options_end_at_the_command() {
        let request = words("-n -u alice ls -la").unwrap();
        assert_eq!(request.user.as_deref(), Some("alice"));
        assert_eq!(request.command, ["ls", "-la"]);
    }

    #[test]
    fn clusters_assignments_and_a_double_dash_are_understood() {
        let request = words("-EHubob -- A=1 B= env").unwrap();
        assert!(request.keep_environment);
        assert_eq!(request.user.as_deref(), Some("bob"));
        assert_eq!(request.assignments, [("A".to_owned(), "1".into()), ("B".to_owned(), "".into())]);
        assert_eq!(request.command, ["env"]);
    }

    #[test]
    fn an_unknown_option_or_no_command_is_refused() {
        assert_eq!(words("--frobnicate ls"), None);
        assert_eq!(words("-u root"), None);
        assert_eq!(words(""), None);
    }
}
