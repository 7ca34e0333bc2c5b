//! Being asked to end, with something worth showing.

use std::io;

use crate::error::failed;
use crate::sys::signal;

/// What asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interrupt {
    /// Ctrl-C: `SIGINT`.
    Keyboard,
    /// `SIGTERM`.
    Terminate,
}

impl Interrupt {
    /// What a shell says of a process that the signal ended: 130 or 143.
    pub const fn exit_code(self) -> u8 {
        128 + match self {
            Self::Keyboard => libc::SIGINT as u8,
            Self::Terminate => libc::SIGTERM as u8,
        }
    }
}

/// From now on the first `SIGINT` or `SIGTERM` is noted for [`noted`]. One that comes half a second
/// later or more ends the process as usual; what comes sooner is the same wish told twice.
///
/// # Errors
/// What `sigaction` fails with.
pub fn note() -> io::Result<()> {
    for number in [libc::SIGINT, libc::SIGTERM] {
        signal::note_first(number).map_err(|cause| failed("sigaction", "own process", cause))?;
    }
    Ok(())
}

/// What asked the process to end, if anything did since [`note`].
pub fn noted() -> Option<Interrupt> {
    signal::noted().map(|number| match number {
        libc::SIGINT => Interrupt::Keyboard,
        _ => Interrupt::Terminate,
    })
}
