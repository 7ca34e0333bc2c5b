//! Data for the next program.

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use crate::exit;

/// Prints `data` as the result of a command, and answers with its exit code.
pub fn print(data: &str) -> ExitCode {
    match write(data) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("taut: cannot write to stdout: {error}");
            ExitCode::from(exit::FAILED)
        }
    }
}

/// Writes `data` to stdout. A reader that has seen enough, such as `head`, is no failure.
fn write(data: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout
        .write_all(data.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        done => done,
    }
}
