//! Data for the next program.

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::process::ExitCode;

use serde::Serialize;

use crate::exit;
use crate::talk::say;

/// Prints `data` as the result of a command, and answers with its exit code.
pub fn print(data: &str) -> ExitCode {
    answer(write(data), ExitCode::SUCCESS)
}

/// Writes `data` at once; [`answer`] knows what an error means.
pub fn write(data: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(data.as_bytes())?;
    stdout.flush()
}

/// `code` if all was written. A reader that has seen enough, such as `head`, is no failure.
pub fn answer(written: io::Result<()>, code: ExitCode) -> ExitCode {
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            say!("taut: cannot write to stdout: {error}");
            ExitCode::from(exit::FAILED)
        }
        _ => code,
    }
}

/// Columns that a line may have: those of the terminal, or any number where there is none.
pub fn columns() -> Option<usize> {
    let stdout = io::stdout();
    stdout
        .is_terminal()
        .then(|| taut_linux::terminal::columns(&stdout))?
}

/// Prints `document` as one JSON document.
pub fn print_json(document: &impl Serialize) -> ExitCode {
    match serde_json::to_string_pretty(document) {
        Ok(text) => print(&(text + "\n")),
        Err(error) => {
            say!("taut: {error}");
            ExitCode::from(exit::FAILED)
        }
    }
}
