//! What is being run, for those who wait at a terminal.

use taut_linux::interrupt;
use taut_report::message::ChangingLine;

/// One line on stderr that changes; silent where stderr is no terminal. Gone when dropped.
pub struct ProgressLine(ChangingLine);

impl ProgressLine {
    pub fn new() -> Self {
        Self(ChangingLine::new())
    }

    /// So many parts are done, of so many, and `what` is being run.
    pub fn show(&mut self, what: &str, done: u64, all: u64) {
        // After an interrupt what was found is being shown.
        if interrupt::noted().is_none() {
            self.0.show(&format!("[{done}/{all}] {what}"));
        }
    }
}
