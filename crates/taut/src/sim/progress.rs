//! Progress on a terminal.

use taut_linux::interrupt::noted;
use taut_report::message::ChangingLine;

/// Returns a function that shows the running case and the finished ones on a terminal.
pub fn progress_line() -> impl FnMut(&str, u64, u64) {
    let mut line = ChangingLine::new();
    move |what, done, all| {
        // After an interrupt, the results are being printed.
        if noted().is_none() {
            line.show(&format!("[{done}/{all}] {what}"));
        }
    }
}
