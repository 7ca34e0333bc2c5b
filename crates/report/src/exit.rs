//! The exit codes of every verb.
//!
//! A run that was interrupted exits with 130 (Ctrl-C) or 143 (SIGTERM), as a shell reports it.

use std::fmt;
use std::process::ExitCode;

use crate::say;

/// The command failed.
pub const FAILED: u8 = 1;
/// The command line is invalid, or a value is out of range. clap uses the same code.
pub const USAGE: u8 = 2;
/// The measurement contradicts what must hold.
pub const DOES_NOT_HOLD: u8 = 3;
/// A privilege or kernel feature is missing. automake reads this code as "skipped".
pub const CANNOT_RUN_HERE: u8 = 77;

/// Reports `error` and returns [`FAILED`].
pub fn failed(error: impl fmt::Display) -> ExitCode {
    fail(FAILED, error)
}

/// Reports `error` and returns the exit code of the command.
pub fn fail(code: u8, error: impl fmt::Display) -> ExitCode {
    say!("taut: {error}");
    ExitCode::from(code)
}
