//! Results on standard output.

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::process::ExitCode;

use serde::Serialize;

use crate::{exit, terminal};

/// Prints `data` and returns the exit code of the command.
pub fn print(data: &str) -> ExitCode {
    answer(write(data), ExitCode::SUCCESS)
}

/// Writes `data` and flushes it. [`answer`] turns the result into an exit code.
///
/// # Errors
/// The errors of the write.
pub fn write(data: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(data.as_bytes())?;
    stdout.flush()
}

/// Returns `code`, or a failure if the write failed. A reader that stopped early, such as `head`,
/// is not a failure.
pub fn answer(written: io::Result<()>, code: ExitCode) -> ExitCode {
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => exit::fail(
            exit::FAILED,
            format_args!("cannot write to stdout: {error}"),
        ),
        _ => code,
    }
}

/// Returns the columns of the terminal, or `None` if standard output is not a terminal.
pub fn columns() -> Option<usize> {
    let stdout = io::stdout();
    stdout.is_terminal().then(|| terminal::columns(&stdout))?
}

/// Prints `document` as one JSON document.
pub fn print_json(document: &impl Serialize) -> ExitCode {
    match serde_json::to_string_pretty(document) {
        Ok(text) => print(&(text + "\n")),
        Err(error) => exit::fail(exit::FAILED, error),
    }
}
