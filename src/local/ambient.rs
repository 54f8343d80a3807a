//! The environment that programs begin with (C13): the harness' own, without what looks like a secret.

use std::sync::{Mutex, PoisonError};

use process::environment::{Environment, ScrubRules};

/// What was read last, and what became of it: harnesses start many programs and change their environment seldom.
static LAST: Mutex<Option<(Vec<u8>, Environment)>> = Mutex::new(None);

/// The scrubbed environment of this process as it is now.
///
/// To be called on the main thread only, and only while no worker shares the environment: then nobody else changes it.
pub fn of_this_process() -> Environment {
    let raw = raw();
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((known, scrubbed)) = &*last
        && *known == raw
    {
        return scrubbed.clone();
    }
    let scrubbed = scrubbed(Environment::of_this_process());
    *last = Some((raw, scrubbed.clone()));
    scrubbed
}

/// The scrubbed form of an environment that was given as `NAME=value` entries.
pub fn from_entries(entries: &[String]) -> Environment {
    scrubbed(Environment::from_entries(entries.iter().map(String::as_bytes)))
}

fn scrubbed(mut environment: Environment) -> Environment {
    environment.scrub(&ScrubRules::default());
    environment
}

/// All entries, one after another, each with its NUL.
fn raw() -> Vec<u8> {
    let mut raw = Vec::with_capacity(8 * 1024);
    // SAFETY: the C library's list of strings ends with a null pointer; nobody changes it while its one writer is here.
    unsafe {
        let mut entry = list();
        while !entry.is_null() && !(*entry).is_null() {
            raw.extend_from_slice(std::ffi::CStr::from_ptr(*entry).to_bytes_with_nul());
            entry = entry.add(1);
        }
    }
    raw
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

    #[test]
    fn c13_entries_lose_what_looks_like_a_secret() {
        let entries = ["PATH=/bin", "DSH_X=1", "toh_y=2", "My_Token=3", "EMPTY="].map(str::to_owned);
        let environment = from_entries(&entries);
        let names: Vec<&[u8]> = environment.iter().map(|(name, _)| name).collect();
        assert_eq!(names, [&b"EMPTY"[..], b"PATH"]);
    }

    #[test]
    fn c13_the_own_environment_is_read_as_it_is_now() {
        assert_eq!(of_this_process().get(b"PATH"), std::env::var("PATH").ok().as_deref().map(str::as_bytes));
        assert_eq!(of_this_process(), scrubbed(Environment::of_this_process()));
    }
}
