//! Where results go: stdout, and a report if one is wanted.

use std::process::ExitCode;

pub use taut_report::emit::{Form, check, check_spared, emit, print};

use taut_linux::interrupt::Interrupt;

/// Reports an interrupted run and returns its exit code.
pub fn interrupted(interrupt: Interrupt, finished_rows: usize, code: ExitCode) -> ExitCode {
    taut_report::emit::interrupted(interrupt.exit_code(), finished_rows, code)
}
