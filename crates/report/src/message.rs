//! Messages on standard error. A closed or full standard error does not end the program.

use std::fmt;
use std::io::{IsTerminal, Write, stderr};

use crate::terminal;

/// Writes one line. The standard macros panic if they cannot write.
pub fn line(text: fmt::Arguments<'_>) {
    // One write, so that lines of several threads do not mix.
    let _ = stderr().write_all(format!("{text}\n").as_bytes());
}

/// `eprintln!` that never panics.
#[macro_export]
macro_rules! say {
    ($($text:tt)*) => { $crate::message::line(format_args!($($text)*)) };
}

/// Moves to the begin of the line and clears it.
const CLEAR: &str = "\r\x1b[K";

/// A line on the terminal that changes, for progress. It writes nothing if standard error is not a
/// terminal. Dropping it clears the line.
pub struct ChangingLine {
    live: bool,
}

impl ChangingLine {
    /// Creates a line that shows nothing yet.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Self {
            live: stderr().is_terminal(),
        }
    }

    /// Returns `true` if standard error is a terminal.
    pub fn is_live(&self) -> bool {
        self.live
    }

    /// Replaces the line by `text`, cut off at the width of the terminal.
    pub fn show(&mut self, text: &str) {
        if self.live {
            let columns = terminal::columns(stderr()).unwrap_or(80);
            let text = text.replace(char::is_control, " ");
            let text = text.chars().take(columns.saturating_sub(1));
            self.write(&CLEAR.chars().chain(text).collect::<String>());
        }
    }

    /// Clears the line.
    pub fn clear(&mut self) {
        if self.live {
            self.write(CLEAR);
        }
    }

    fn write(&self, text: &str) {
        // A failure to show progress must not end the run.
        let _ = stderr().write_all(text.as_bytes());
    }
}

impl Drop for ChangingLine {
    fn drop(&mut self) {
        self.clear();
    }
}
