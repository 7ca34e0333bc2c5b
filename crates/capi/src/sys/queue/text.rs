//! Text between C and Rust.

use core::ffi::{CStr, c_char};
use std::fmt::Display;

use crate::sys::status::{self, Status};

/// Reads a text of C.
///
/// # Safety
/// `text` is null or a string that ends with a zero and outlives the borrow.
pub(super) unsafe fn read<'a>(text: *const c_char) -> Result<&'a str, Status> {
    if text.is_null() {
        return Err(Status::Null);
    }
    // SAFETY: not null, and a string as the caller guarantees.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| Status::BadSpec)
}

/// A buffer for an error message: as much of it as fits, always with a terminating zero.
pub(super) struct ErrorText {
    to: *mut c_char,
    bytes: usize,
}

impl ErrorText {
    /// # Safety
    /// `to` is null, or points to `bytes` bytes owned by the caller.
    pub(super) unsafe fn new(to: *mut c_char, bytes: usize) -> Self {
        let error_text = Self { to, bytes };
        error_text.write("");
        error_text
    }

    /// Writes the reason, and returns the status.
    pub(super) fn why(&self, status: Status, why: impl Display) -> Status {
        self.write(&why.to_string());
        status
    }

    /// Writes the text of a status without further details, and returns the status.
    pub(super) fn status(&self, status: Status) -> Status {
        if status != Status::Ok {
            self.write(&status::text(status as i32).to_string_lossy());
        }
        status
    }

    /// Writes as much of a text as fits.
    pub(super) fn write(&self, text: &str) {
        if self.to.is_null() || self.bytes == 0 {
            return;
        }
        let mut end = text.len().min(self.bytes - 1);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        // SAFETY: at most `bytes` bytes with the zero, as `new` requires, and the two do not
        // overlap.
        unsafe {
            self.to.copy_from_nonoverlapping(text.as_ptr().cast(), end);
            self.to.add(end).write(0);
        }
    }
}
