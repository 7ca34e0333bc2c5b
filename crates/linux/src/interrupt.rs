//! Ending a program on a signal, with its results printed.

use std::io;

use crate::error::Context;
use crate::sys::signal;

/// The signal received: `SIGINT` (Ctrl-C) or `SIGTERM`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interrupt(libc::c_int);

impl Interrupt {
    /// Returns the exit code that a shell reports for a process killed by the signal: 130 or 143.
    pub const fn exit_code(self) -> u8 {
        128 + self.0 as u8
    }
}

/// From now on, records the first `SIGINT` or `SIGTERM` for [`noted`]. A signal that arrives at
/// least half a second later kills the process as usual; an earlier one counts as a duplicate.
///
/// # Errors
/// The error of `sigaction`.
pub fn note() -> io::Result<()> {
    for number in [libc::SIGINT, libc::SIGTERM] {
        signal::note_first(number).context("sigaction", "own process")?;
    }
    Ok(())
}

/// Returns the signal recorded since [`note`], if there is one.
pub fn noted() -> Option<Interrupt> {
    signal::noted().map(Interrupt)
}
