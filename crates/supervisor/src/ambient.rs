//! The environment that commands start from (C13): what the daemon gave the last joiner.

use std::ffi::OsStr;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use process::account;
use process::environment::{Environment, ScrubRules};

use crate::login;

/// Longest environment that is taken; the kernel itself takes no more.
const LONGEST: u64 = 8 * 1024 * 1024;

/// The ambient environment as it came, and what commands see of it.
pub struct Ambient {
    scrubbed: Environment,
    raw: Environment,
    rules: ScrubRules,
    home: Option<Vec<u8>>,
    shell: Vec<u8>,
    logged_in: bool,
}

impl Ambient {
    /// Nothing yet; `HOME` is the login home of this user.
    pub fn new() -> Self {
        let uid = rustix::process::geteuid().as_raw();
        let account = account::by_uid(uid).ok().flatten();
        let (home, shell) = account.map(|account| (account.home, account.shell)).unwrap_or_default();
        Self {
            scrubbed: Environment::default(),
            raw: Environment::default(),
            rules: ScrubRules::default(),
            home: Some(home).filter(|home| !home.is_empty()),
            shell: if shell.is_empty() { b"/bin/sh".to_vec() } else { shell },
            logged_in: false,
        }
    }

    /// Takes the environment of a joiner: entries that end in NUL.
    pub fn replace(&mut self, memfd: OwnedFd) {
        if self.logged_in {
            return;
        }
        let mut text = Vec::new();
        let mut file = std::fs::File::from(memfd);
        if std::io::Seek::rewind(&mut file).is_ok() && file.take(LONGEST).read_to_end(&mut text).is_ok() {
            self.raw = Environment::from_entries(text.split(|&byte| byte == 0));
            self.scrub();
        }
    }

    /// Takes the host's names of what programs must not see.
    pub fn set_prefixes(&mut self, prefixes: &[String]) {
        self.rules = ScrubRules::with_prefixes(prefixes.iter().map(String::as_bytes));
        self.scrub();
    }

    /// Reads the environment of a login shell, once for all joiners; without an answer the ambient one stays.
    pub fn log_in(&mut self) {
        let home = self.home.as_deref().filter(|home| Path::new(OsStr::from_bytes(home)).is_dir()).unwrap_or(b"/");
        if let Some(environment) = login::environment(&self.raw, &self.shell, home) {
            self.raw = environment;
            self.logged_in = true;
            self.scrub();
        }
    }

    fn scrub(&mut self) {
        self.scrubbed = self.raw.clone();
        self.scrubbed.scrub(&self.rules);
        if let Some(home) = &self.home {
            self.scrubbed.set(b"HOME", home);
        }
    }

    /// The directory that is meant, as the daemon reads it: `~` is the home, what is relative lies below it, nothing at all is the home
    /// itself. Our own directory is the private runtime root, which no program is to land in.
    pub fn directory(&self, asked: &[u8]) -> Vec<u8> {
        directory(self.home.as_deref().unwrap_or(b"/"), asked)
    }

    /// What a command starts from.
    pub fn environment(&self) -> &Environment {
        &self.scrubbed
    }
}

fn directory(home: &[u8], asked: &[u8]) -> Vec<u8> {
    match asked {
        [b'/', ..] => asked.to_vec(),
        b"" | b"~" => home.to_vec(),
        [b'~', b'/', below @ ..] | below => [home, b"/", below].concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::directory;

    #[test]
    fn c19_what_is_no_absolute_directory_lies_below_the_home() {
        let table = [
            ("/a/../b/", "/a/../b/"),
            ("", "/home/user"),
            ("~", "/home/user"),
            ("~/", "/home/user/"),
            ("~/a", "/home/user/a"),
            (".", "/home/user/."),
            ("a/b", "/home/user/a/b"),
            ("~a", "/home/user/~a"),
        ];
        for (asked, meant) in table {
            assert_eq!(directory(b"/home/user", asked.as_bytes()), meant.as_bytes(), "{asked:?}");
        }
    }
}
