//! Output that is printed once or repeatedly.

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;
use taut_path::units::Time;
use taut_report::stdout;

/// The output of one reading.
pub enum Shown {
    Json(Value),
    Text(String),
}

/// Prints what `read` returns: once without `watch`, otherwise at this interval until that fails.
pub fn print(
    watch: Option<Time>,
    mut read: impl FnMut() -> Result<Shown, ExitCode>,
) -> Result<ExitCode, ExitCode> {
    let mut first = true;
    loop {
        let text = match (read()?, watch) {
            (Shown::Json(document), None) => format!("{document:#}\n"),
            (Shown::Json(document), Some(_)) => format!("{document}\n"),
            // Overwrites the previous text and clears the rest of the screen.
            (Shown::Text(text), Some(_)) if io::stdout().is_terminal() => {
                format!("\x1b[H\x1b[J{text}")
            }
            (Shown::Text(text), _) if first => text,
            (Shown::Text(text), _) => format!("\n{text}"),
        };
        first = false;
        let written = stdout::write(&text);
        match watch {
            Some(Time(pause_ns)) if written.is_ok() => sleep(Duration::from_nanos(pause_ns)),
            _ => return Ok(stdout::answer(written, ExitCode::SUCCESS)),
        }
    }
}
