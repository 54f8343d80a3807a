//! What a child execs, laid out once by the parent so that the child needs no memory of its own.
//!
//! An image is one block of 64-bit words: a header, a table of pointers, then the strings. Pointers are stored as offsets
//! from the start of the block; [`relocate`] turns them into addresses, in the parent for a clone that shares memory, in
//! the child for an image that arrives in a memfd.

use crate::environment::Environment;
use crate::lookup;

#[cfg(target_os = "linux")]
mod linux;

/// The shell that runs an executable file of unknown format.
const SHELL: &[u8] = b"/bin/sh";
const WORD: usize = size_of::<u64>();

/// Indexes of the header's words.
mod header {
    /// Number of words before the strings.
    pub const TABLE_WORDS: usize = 0;
    /// Offset of the working directory; 0 for none.
    pub const CWD: usize = 1;
    /// First word of the candidates' list.
    pub const CANDIDATES: usize = 2;
    /// First word of the argument list for `/bin/sh`; its second entry is filled in by the child.
    pub const SCRIPT: usize = 3;
    /// First word of the argument list.
    pub const ARGV: usize = 4;
    /// First word of the environment.
    pub const ENVP: usize = 5;
    pub const WORDS: usize = 6;
}

/// Why a program cannot be described.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidProgram {
    /// No arguments, or an empty first one.
    #[error("invalid argv: expected a non-empty program name at argv[0]")]
    NoProgram,
    /// An argument holds NUL.
    #[error("invalid argv: argument {0} holds a NUL byte")]
    NulInArgument(usize),
    /// The working directory holds NUL.
    #[error("invalid cwd: it holds a NUL byte")]
    NulInCwd,
}

/// A program with its arguments, environment and working directory, ready for exec.
#[derive(Debug)]
pub struct ExecImage {
    words: Vec<u64>,
}

impl ExecImage {
    /// Lays out `argv`, `environment` and `cwd` (none: the parent's own). A bare `argv[0]` is looked up along `PATH` of
    /// `environment`, from `cwd`.
    pub fn new(argv: &[Vec<u8>], environment: &Environment, cwd: Option<&[u8]>) -> Result<Self, InvalidProgram> {
        let program = argv.first().filter(|program| !program.is_empty()).ok_or(InvalidProgram::NoProgram)?;
        if let Some(index) = argv.iter().position(|argument| argument.contains(&0)) {
            return Err(InvalidProgram::NulInArgument(index));
        }
        if cwd.is_some_and(|cwd| cwd.contains(&0)) {
            return Err(InvalidProgram::NulInCwd);
        }
        let candidates = lookup::candidates(program, environment.get(b"PATH"));
        let entries: Vec<Vec<u8>> = environment.iter().map(|(name, value)| [name, b"=", value].concat()).collect();

        // Lists end with a null pointer; the script's has the shell and the file in place of argv[0].
        let table = header::WORDS + (candidates.len() + 1) + (argv.len() + 2) + (argv.len() + 1) + (entries.len() + 1);
        let mut layout = Layout { words: vec![0; header::WORDS], strings: Vec::new(), strings_at: table * WORD };
        layout.words[header::TABLE_WORDS] = table as u64;
        layout.words[header::CWD] = cwd.map_or(0, |cwd| layout.string(cwd));
        layout.words[header::CANDIDATES] = layout.list(candidates.iter().map(Vec::as_slice));
        let arguments: Vec<u64> = argv.iter().map(|argument| layout.string(argument)).collect();
        let shell = layout.string(SHELL);
        layout.words[header::SCRIPT] = layout.offsets(&[&[shell, shell], &arguments[1..]].concat());
        layout.words[header::ARGV] = layout.offsets(&arguments);
        layout.words[header::ENVP] = layout.list(entries.iter().map(Vec::as_slice));
        Ok(Self { words: layout.finish() })
    }

    /// Size in bytes.
    pub fn size(&self) -> usize {
        self.words.len() * WORD
    }

    /// Turns the offsets into addresses inside this very image, for a child that shares this memory.
    pub(crate) fn relocated(&mut self) -> Program {
        // SAFETY: `words` was laid out by `new`; an image is relocated once, as its only user consumes it.
        unsafe { relocate(self.words.as_mut_ptr()) }
    }
}

struct Layout {
    words: Vec<u64>,
    strings: Vec<u8>,
    strings_at: usize,
}

impl Layout {
    fn string(&mut self, text: &[u8]) -> u64 {
        let offset = self.strings_at + self.strings.len();
        self.strings.extend_from_slice(text);
        self.strings.push(0);
        offset as u64
    }

    fn list<'a>(&mut self, texts: impl Iterator<Item = &'a [u8]>) -> u64 {
        let offsets: Vec<u64> = texts.map(|text| self.string(text)).collect();
        self.offsets(&offsets)
    }

    fn offsets(&mut self, offsets: &[u64]) -> u64 {
        let first = self.words.len() as u64;
        self.words.extend_from_slice(offsets);
        self.words.push(0);
        first
    }

    fn finish(mut self) -> Vec<u64> {
        self.strings.resize(self.strings.len().next_multiple_of(WORD), 0);
        let (chunks, _) = self.strings.as_chunks::<WORD>();
        self.words.extend(chunks.iter().map(|chunk| u64::from_ne_bytes(*chunk)));
        self.words
    }
}

/// Pointers into a relocated image; plain data, for use after a fork.
#[derive(Clone, Copy)]
pub(crate) struct Program {
    /// Working directory; null for none.
    pub cwd: *const libc::c_char,
    /// Null-terminated list of paths.
    pub candidates: *const *const libc::c_char,
    /// Null-terminated arguments for the shell; entry 1 is to be set to the file.
    pub script: *mut *const libc::c_char,
    /// Null-terminated arguments.
    pub argv: *const *const libc::c_char,
    /// Null-terminated environment.
    pub envp: *const *const libc::c_char,
}

/// Turns the offsets of the image at `base` into addresses. Touches only the image, so it is safe after a fork.
///
/// # Safety
/// `base` must point to a whole, writable image made by [`ExecImage::new`] that was not relocated before.
pub(crate) unsafe fn relocate(base: *mut u64) -> Program {
    // SAFETY: all indexes come from the image itself, which the caller vouches for; a user address fits 64 bits.
    unsafe {
        let word = |index: usize| *base.add(index).cast::<usize>();
        let table_words = word(header::TABLE_WORDS);
        for index in std::iter::once(header::CWD).chain(header::WORDS..table_words) {
            let slot = base.add(index);
            if *slot != 0 {
                *slot += base as u64;
            }
        }
        let list = |index: usize| base.add(word(index)).cast::<*const libc::c_char>();
        Program {
            cwd: *base.add(header::CWD).cast(),
            candidates: list(header::CANDIDATES),
            script: list(header::SCRIPT),
            argv: list(header::ARGV),
            envp: list(header::ENVP),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;

    fn read(mut at: *const *const libc::c_char) -> Vec<String> {
        let mut texts = Vec::new();
        // SAFETY: lists of a relocated image end with a null pointer, strings with NUL.
        unsafe {
            while !(*at).is_null() {
                texts.push(CStr::from_ptr(*at).to_str().unwrap().to_owned());
                at = at.add(1);
            }
        }
        texts
    }

    #[test]
    fn a_relocated_image_gives_back_what_went_in() {
        let environment = Environment::from_entries([&b"PATH=/a:/b"[..], b"X=", b"Y=1=2"]);
        let mut image =
            ExecImage::new(&[b"prog".into(), b"".into(), b"z".into()], &environment, Some(b"/tmp")).unwrap();
        let program = image.relocated();
        assert_eq!(read(program.candidates), ["/a/prog", "/b/prog"]);
        assert_eq!(read(program.argv), ["prog", "", "z"]);
        assert_eq!(read(program.script), ["/bin/sh", "/bin/sh", "", "z"]);
        assert_eq!(read(program.envp), ["PATH=/a:/b", "X=", "Y=1=2"]);
        // SAFETY: `cwd` was given.
        assert_eq!(unsafe { CStr::from_ptr(program.cwd) }, c"/tmp");
    }

    #[test]
    fn c19_nul_and_an_empty_program_are_refused() {
        let new = |argv: &[Vec<u8>], cwd| ExecImage::new(argv, &Environment::default(), cwd).unwrap_err();
        assert_eq!(new(&[], None), InvalidProgram::NoProgram);
        assert_eq!(new(&[vec![]], None), InvalidProgram::NoProgram);
        assert_eq!(new(&[b"a".into(), b"b\0".into()], None), InvalidProgram::NulInArgument(1));
        assert_eq!(new(&[b"a".into()], Some(b"/\0")), InvalidProgram::NulInCwd);
    }
}
