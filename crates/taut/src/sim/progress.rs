//! What is being run, for those who wait at a terminal.

use std::io::{IsTerminal, Write, stderr};

/// One line on stderr that changes; silent where stderr is no terminal. Gone when dropped.
pub struct Progress {
    live: bool,
}

impl Progress {
    pub fn new() -> Self {
        Self {
            live: stderr().is_terminal(),
        }
    }

    /// So many parts are done, of so many, and `what` is being run.
    pub fn show(&mut self, what: &str, done: u64, all: u64) {
        if self.live {
            let what = what.replace(char::is_control, " ");
            // Progress that cannot be shown is not worth failing for.
            let _ = write!(stderr(), "\r\x1b[K[{done}/{all}] {what}");
            let _ = stderr().flush();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.live {
            let _ = write!(stderr(), "\r\x1b[K");
        }
    }
}
