//! Talk for people, on stderr. Nobody has to listen: a stderr that is closed or full ends nothing.

use std::fmt;
use std::io::{IsTerminal, Write, stderr};

/// One line. The standard macros panic where it cannot be written.
pub fn line(text: fmt::Arguments<'_>) {
    // In one piece, so that lines of several threads do not mix.
    let _ = stderr().write_all(format!("{text}\n").as_bytes());
}

/// `eprintln!` that never panics.
macro_rules! say {
    ($($text:tt)*) => { $crate::talk::line(format_args!($($text)*)) };
}
pub(crate) use say;

/// A line on a terminal that changes; silent where stderr is no terminal. Gone when dropped.
pub struct ChangingLine {
    live: bool,
}

impl ChangingLine {
    pub fn new() -> Self {
        Self {
            live: stderr().is_terminal(),
        }
    }

    pub fn is_live(&self) -> bool {
        self.live
    }

    /// Shows `text` instead of what was shown before, cut off where the terminal ends.
    pub fn show(&self, text: &str) {
        if self.live {
            let columns = taut_linux::terminal::columns(&stderr()).unwrap_or(80);
            let text: String = text
                .replace(char::is_control, " ")
                .chars()
                .take(columns.saturating_sub(1))
                .collect();
            self.write(&format!("\r\x1b[K{text}"));
        }
    }

    /// Takes the line away.
    pub fn clear(&self) {
        if self.live {
            self.write("\r\x1b[K");
        }
    }

    fn write(&self, text: &str) {
        // Progress that cannot be shown is not worth failing for.
        let _ = stderr().write_all(text.as_bytes());
    }
}

impl Drop for ChangingLine {
    fn drop(&mut self) {
        self.clear();
    }
}

/// A few lines on a terminal that change together; silent where stderr is no terminal. Gone when
/// dropped.
pub struct ChangingLines {
    live: bool,
    /// Lines on the terminal now.
    shown: usize,
}

impl ChangingLines {
    pub fn new() -> Self {
        Self {
            live: stderr().is_terminal(),
            shown: 0,
        }
    }

    pub fn is_live(&self) -> bool {
        self.live
    }

    /// Shows `lines` instead of what was shown before, each cut off where the terminal ends.
    pub fn show(&mut self, lines: &[String]) {
        if !self.live {
            return;
        }
        let columns = taut_linux::terminal::columns(&stderr()).unwrap_or(80);
        let mut text = self.back();
        for line in lines {
            text.extend(line.chars().take(columns.saturating_sub(1)));
            text.push('\n');
        }
        self.shown = lines.len();
        let _ = stderr().write_all(text.as_bytes());
    }

    /// Takes the lines away.
    pub fn clear(&mut self) {
        let text = self.back();
        self.shown = 0;
        let _ = stderr().write_all(text.as_bytes());
    }

    /// Goes to where the lines begin, and clears the screen from there on.
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
