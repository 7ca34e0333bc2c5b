//! Errors that name the failed call.

use std::io;

/// Puts the call in front of the kernel's message. The kind stays.
pub(crate) fn failed(call: &'static str, cause: &io::Error) -> io::Error {
    io::Error::new(cause.kind(), format!("{call} on a UDP socket: {cause}"))
}
