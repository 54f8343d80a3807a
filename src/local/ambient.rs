//! The environment that programs begin with (C13): the harness' own, without what looks like a secret.

use std::sync::{Mutex, PoisonError};

use process::environment::{Environment, ScrubRules};

/// What was given last, and what became of it: harnesses start many programs and change their environment seldom.
static LAST: Mutex<Option<(Vec<u8>, Environment)>> = Mutex::new(None);

/// The scrubbed form of an environment, given as `NAME=value` entries with a NUL between them.
pub fn scrubbed(given: Vec<u8>) -> Environment {
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((known, scrubbed)) = &*last
        && *known == given
    {
        return scrubbed.clone();
    }
    let mut scrubbed = Environment::from_entries(given.split(|&byte| byte == 0));
    scrubbed.scrub(&ScrubRules::default());
    *last = Some((given, scrubbed.clone()));
    scrubbed
}

/// This process' own environment as it is now.
///
/// To be called only where no other thread's JavaScript can change it (a worker with `SHARE_ENV`): only Node's own lock keeps that from moving the
/// C library's list meanwhile.
pub fn of_this_process() -> Vec<u8> {
    let mut entries = Vec::with_capacity(8 * 1024);
    // SAFETY: the C library's list of strings ends with a null pointer; nobody changes it while its one writer is here.
    unsafe {
        let mut entry = list();
        while !entry.is_null() && !(*entry).is_null() {
            entries.extend_from_slice(std::ffi::CStr::from_ptr(*entry).to_bytes_with_nul());
            entry = entry.add(1);
        }
    }
    entries.pop();
    entries
}

/// Where the C library keeps them.
#[cfg(not(target_os = "macos"))]
unsafe fn list() -> *const *const libc::c_char {
    unsafe extern "C" {
        static environ: *const *const libc::c_char;
    }
    // SAFETY: the caller vouches for that nobody changes it meanwhile.
    unsafe { environ }
}

/// The same; a library can't see the variable itself there.
#[cfg(target_os = "macos")]
unsafe fn list() -> *const *const libc::c_char {
    // SAFETY: gives the variable's address; the caller vouches for that nobody changes it meanwhile.
    unsafe { (*libc::_NSGetEnviron()).cast_const().cast() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(given: &str) -> Vec<String> {
        scrubbed(given.into()).iter().map(|(name, _)| String::from_utf8_lossy(name).into_owned()).collect()
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

    #[test]
    fn c13_the_own_environment_is_read_as_it_is_now() {
        let own = Environment::from_entries(of_this_process().split(|&byte| byte == 0));
        assert_eq!(own, Environment::of_this_process());
        assert!(own.get(b"PATH").is_some());
    }
}
