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

/// Lines on the terminal that change together, for progress. They write nothing if standard error
/// is not a terminal. Dropping them clears the lines.
pub struct ChangingLines {
    live: bool,
    /// Lines on the terminal now. The cursor is at the end of the last one.
    shown: usize,
}

impl ChangingLines {
    /// Creates lines that show nothing yet.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Self {
            live: stderr().is_terminal(),
            shown: 0,
        }
    }

    /// Returns `true` if standard error is a terminal.
    pub fn is_live(&self) -> bool {
        self.live
    }

    /// Replaces the lines with those of `text`, each cut off at the width of the terminal.
    pub fn show(&mut self, text: &str) {
        if self.live {
            let columns = terminal::columns(stderr()).unwrap_or(80);
            let cut_off = |line: &str| -> String {
                let line = line.replace(char::is_control, " ");
                line.chars().take(columns.saturating_sub(1)).collect()
            };
            let lines: Vec<String> = text.split('\n').map(cut_off).collect();
            let text = self.back() + &lines.join("\n");
            self.shown = lines.len();
            self.write(&text);
        }
    }

    /// Clears the lines.
    pub fn clear(&mut self) {
        if self.live {
            self.write(&self.back());
            self.shown = 0;
        }
    }

    /// Returns the escape sequence that moves to the first line and clears it and those below.
    fn back(&self) -> String {
        match self.shown {
            // Another object can have written the current line.
            0 | 1 => "\r\x1b[K".to_owned(),
            lines => format!("\r\x1b[{}A\x1b[J", lines - 1),
        }
    }

    fn write(&self, text: &str) {
        // A failure to show progress must not end the run.
        let _ = stderr().write_all(text.as_bytes());
    }
}

impl Drop for ChangingLines {
    fn drop(&mut self) {
        self.clear();
    }
}
