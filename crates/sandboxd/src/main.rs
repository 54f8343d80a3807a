//! The `sandboxd` binary: parses, binds, calls. Everything else is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    sandboxd::cli::main()
}
