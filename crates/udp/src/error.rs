//! Errors that say which call failed.

use std::io;

/// Names the call in front of what the kernel says. The kind stays.
pub(crate) fn failed(call: &'static str, cause: &io::Error) -> io::Error {
    io::Error::new(cause.kind(), format!("{call} on a UDP socket: {cause}"))
}
