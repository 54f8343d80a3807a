//! What to execute, prepared so that the child needs no memory allocation between fork and exec.

use std::{
    ffi::{CString, NulError, c_char},
    ptr,
};

/// Where to look for a program when the environment has no `PATH`.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// A command, ready for `execve`.
pub struct Arguments {
    /// Files to try, in order: one for a command with a slash, else one for each part of `PATH`.
    pub candidates: Vec<CString>,
    /// The command and its arguments.
    pub argv: Strings,
    /// For each candidate: the arguments of the shell that runs it if the kernel doesn't know its
    /// format, as `execvp` does.
    pub shell_argv: Vec<Strings>,
    /// `NAME=value`.
    pub envp: Strings,
    /// The start of the message for a command that can't be executed.
    pub complaint: Vec<u8>,
}

impl Arguments {
    /// Prepares a command.
    ///
    /// # Errors
    /// A zero byte in the command, an argument or a variable.
    pub fn new(command: &str, arguments: &[String], variables: &[(String, String)]) -> Result<Self, NulError> {
        let words: Vec<CString> = std::iter::once(command)
            .chain(arguments.iter().map(String::as_str))
            .map(CString::new)
            .collect::<Result<_, _>>()?;
        let environment =
            variables.iter().map(|(name, value)| CString::new(format!("{name}={value}"))).collect::<Result<_, _>>()?;
        let path = variables.iter().rev().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_str());
        let candidates = candidates(command, path.unwrap_or(DEFAULT_PATH))?;
        let shell_argv = candidates
            .iter()
            .map(|candidate| {
                let head = [c"/bin/sh".to_owned(), candidate.clone()];
                Strings::new(head.into_iter().chain(words.iter().skip(1).cloned()).collect())
            })
            .collect();
        Ok(Self {
            candidates,
            shell_argv,
            argv: Strings::new(words),
            envp: Strings::new(environment),
            // The daemon runs every command through `nice`, whose words these are.
            complaint: format!("/usr/bin/nice: '{command}': ").into_bytes(),
        })
    }
}

fn candidates(command: &str, path: &str) -> Result<Vec<CString>, NulError> {
    if command.is_empty() {
        return Ok(Vec::new());
    }
    if command.contains('/') {
        return Ok(vec![CString::new(command)?]);
    }
    path.split(':')
        // An empty part means the working directory.
        .map(|part| if part.is_empty() { CString::new(command) } else { CString::new(format!("{part}/{command}")) })
        .collect()
}

/// Strings together with the null-terminated array of pointers to them.
pub struct Strings {
    pointers: Vec<*const c_char>,
    // The pointers point into the heap blocks of these; they are never changed or moved out.
    _owned: Vec<CString>,
}

impl Strings {
    fn new(owned: Vec<CString>) -> Self {
        let pointers = owned.iter().map(|string| string.as_ptr()).chain([ptr::null()]).collect();
        Self { pointers, _owned: owned }
    }

    /// The array, as `execve` wants it.
    pub fn as_ptr(&self) -> *const *const c_char {
        self.pointers.as_ptr()
    }
}

// SAFETY: the pointers lead to memory that this value owns and that nobody changes.
unsafe impl Send for Strings {}
// SAFETY: as above; shared access only reads.
unsafe impl Sync for Strings {}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(command: &str, path: &str) -> Vec<String> {
        candidates(command, path).expect("no zero byte").into_iter().map(|c| c.into_string().expect("UTF-8")).collect()
    }

    #[test]
    fn a_command_is_looked_for_in_the_path_unless_it_has_a_slash() {
        assert_eq!(texts("ls", "/a:/b"), ["/a/ls", "/b/ls"]);
        assert_eq!(texts("ls", ":/b"), ["ls", "/b/ls"]);
        assert_eq!(texts("./ls", "/a:/b"), ["./ls"]);
        assert!(texts("", "/a").is_empty());
    }

    #[test]
    fn a_zero_byte_is_refused_wherever_it_is() {
        let variable = |value: &str| vec![("A".to_owned(), value.to_owned())];
        assert!(Arguments::new("a\0b", &[], &[]).is_err());
        assert!(Arguments::new("a", &["b\0".into()], &[]).is_err());
        assert!(Arguments::new("a", &[], &variable("\0")).is_err());
        assert!(Arguments::new("a", &["b".into()], &variable("c")).is_ok());
    }
}
