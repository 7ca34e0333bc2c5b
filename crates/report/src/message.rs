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

/// A changing line on the terminal, for progress. It writes nothing if standard error is not a
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

    /// Replaces the line with `text`, cut off at the width of the terminal.
    pub fn show(&self, text: &str) {
        if self.live {
            let columns = terminal::columns(stderr()).unwrap_or(80);
            let text: String = text
                .replace(char::is_control, " ")
                .chars()
                .take(columns.saturating_sub(1))
                .collect();
            self.write(&format!("\r\x1b[K{text}"));
        }
    }

    /// Clears the line.
    pub fn clear(&self) {
        if self.live {
            self.write("\r\x1b[K");
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

/// A few lines on the terminal that change together. They write nothing if standard error is not a
/// terminal. Dropping them clears the lines.
pub struct ChangingLines {
    live: bool,
    /// Lines on the terminal now.
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

    /// Replaces the previous lines with `lines`, each cut off at the width of the terminal.
    pub fn show(&mut self, lines: &[String]) {
        if !self.live {
            return;
        }
        let columns = terminal::columns(stderr()).unwrap_or(80);
        let mut text = self.back();
        for line in lines {
            text.extend(line.chars().take(columns.saturating_sub(1)));
            text.push('\n');
        }
        self.shown = lines.len();
        let _ = stderr().write_all(text.as_bytes());
    }

    /// Clears the lines.
    pub fn clear(&mut self) {
        let text = self.back();
        self.shown = 0;
        let _ = stderr().write_all(text.as_bytes());
    }

    /// Returns the escape sequence that moves to the first line and clears the screen below.
    fn back(&self) -> String {
        match self.shown {
            0 => String::new(),
            lines => format!("\r\x1b[{lines}A\x1b[J"),
        }
    }
}

impl Drop for ChangingLines {
    fn drop(&mut self) {
        self.clear();
    }
}
