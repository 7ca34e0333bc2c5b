//! Progress on a terminal.

use taut_linux::interrupt;
use taut_report::message::ChangingLine;

/// A changing line on stderr. Writes nothing if stderr is not a terminal; dropping clears it.
pub struct ProgressLine(ChangingLine);

impl ProgressLine {
    pub fn new() -> Self {
        Self(ChangingLine::new())
    }

    /// Shows that `done` of `all` parts are done, and `what` is running.
    pub fn show(&mut self, what: &str, done: u64, all: u64) {
        // After an interrupt, the results are being printed.
        if interrupt::noted().is_none() {
            self.0.show(&format!("[{done}/{all}] {what}"));
        }
    }
}
