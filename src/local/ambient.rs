//! The environment that programs begin with (C13): the harness' own, without what looks like a secret.

use std::sync::{Mutex, PoisonError};

use process::environment::{Environment, ScrubRules};

/// What was given last, and what became of it: harnesses start many programs and change their environment seldom.
static LAST: Mutex<Option<(String, Environment)>> = Mutex::new(None);

/// The scrubbed form of an environment, given as `NAME=value` entries with a NUL between them.
///
/// It is never read here: only Node's lock keeps another thread's JavaScript from changing the C library's list meanwhile.
pub fn scrubbed(given: String) -> Environment {
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((known, scrubbed)) = &*last
        && *known == given
    {
        return scrubbed.clone();
    }
    let mut scrubbed = Environment::from_entries(given.as_bytes().split(|&byte| byte == 0));
    scrubbed.scrub(&ScrubRules::default());
    *last = Some((given, scrubbed.clone()));
    scrubbed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(given: &str) -> Vec<String> {
        scrubbed(given.to_owned()).iter().map(|(name, _)| String::from_utf8_lossy(name).into_owned()).collect()
    }

    #[test]
    fn c13_entries_lose_what_looks_like_a_secret() {
        assert_eq!(names("PATH=/bin\0DSH_X=1\0toh_y=2\0My_Token=3\0EMPTY="), ["EMPTY", "PATH"]);
        assert_eq!(names(""), Vec::<String>::new());
    }

    #[test]
    fn c13_what_is_remembered_of_one_environment_is_not_taken_for_another() {
        assert_eq!(scrubbed("A=1".into()).get(b"A"), Some(&b"1"[..]));
        assert_eq!(scrubbed("A=1".into()).get(b"A"), Some(&b"1"[..]));
        assert_eq!(scrubbed("A=2".into()).get(b"A"), Some(&b"2"[..]));
        assert_eq!(names("B=1"), ["B"]);
    }
}
