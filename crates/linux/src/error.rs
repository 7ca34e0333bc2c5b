//! Errors that name the failed call and its object.

use std::error::Error;
use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::ops::RangeInclusive;

/// A failed system call: the inner error of the `io::Error`s of this crate.
#[derive(Debug)]
pub struct SyscallError {
    call: &'static str,
    object: String,
    cause: io::Error,
    /// The request; empty if the call and its object are specific enough.
    detail: String,
}

impl SyscallError {
    /// Returns the system call, ioctl or netlink request.
    pub fn call(&self) -> &'static str {
        self.call
    }

    /// Returns the kernel's error number, if there is one.
    pub fn errno(&self) -> Option<i32> {
        self.cause.raw_os_error()
    }
}

impl fmt::Display for SyscallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.call, self.object, self.cause)?;
        match self.detail.as_str() {
            "" => Ok(()),
            detail => write!(f, "; {detail}"),
        }
    }
}

/// No source: the message already contains the cause, and an error chain would repeat it.
impl Error for SyscallError {}

/// Returns the kernel's error number in `error`, even if this crate wrapped it.
pub fn errno(error: &io::Error) -> Option<i32> {
    error
        .raw_os_error()
        .or_else(|| error.get_ref()?.downcast_ref::<SyscallError>()?.errno())
}

/// The request that locks the memory of an AF_XDP socket.
pub(crate) const XDP_UMEM_REG: &str = "XDP_UMEM_REG";

/// Names the failed call of a result, and its object: a device, a file.
pub(crate) trait Context<T> {
    /// As [`failed`].
    fn context(self, call: &'static str, object: impl AsRef<OsStr>) -> io::Result<T>;
}

impl<T, E: Into<io::Error>> Context<T> for Result<T, E> {
    fn context(self, call: &'static str, object: impl AsRef<OsStr>) -> io::Result<T> {
        self.map_err(|cause| failed(call, object, cause))
    }
}

/// Wraps the error of `call` on `object`. The kind stays, except for a missing device, and for the
/// locked-memory limit, which the kernel reports as `ENOBUFS`.
pub(crate) fn failed(
    call: &'static str,
    object: impl AsRef<OsStr>,
    cause: impl Into<io::Error>,
) -> io::Error {
    failed_with(call, object, cause, String::new())
}

/// As [`failed`], with details of the request.
pub(crate) fn failed_with(
    call: &'static str,
    object: impl AsRef<OsStr>,
    cause: impl Into<io::Error>,
    detail: String,
) -> io::Error {
    let cause = cause.into();
    let kind = match cause.raw_os_error() {
        Some(libc::ENODEV | libc::ENXIO) => io::ErrorKind::NotFound,
        Some(libc::ENOBUFS) if call == XDP_UMEM_REG => io::ErrorKind::PermissionDenied,
        _ => cause.kind(),
    };
    let error = SyscallError {
        call,
        object: object.as_ref().to_string_lossy().into_owned(),
        cause,
        detail,
    };
    io::Error::new(kind, error)
}

/// Returns an error for an invalid argument, found without the kernel.
pub(crate) fn invalid(message: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message.into())
}

/// Requires that the `value` of an argument is in the range.
pub(crate) fn check_range(name: &str, value: u32, allowed: RangeInclusive<u32>) -> io::Result<()> {
    if allowed.contains(&value) {
        return Ok(());
    }
    let (min, max) = allowed.into_inner();
    Err(invalid(format!(
        "{name} is {value}; allowed: {min} to {max}"
    )))
}

/// Requires that the caller's buffer holds what one read can return.
pub(crate) fn check_buffer(has: usize, needs: usize) -> io::Result<()> {
    if has < needs {
        return Err(invalid(format!(
            "buffer is {has} bytes; allowed: {needs} or more"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_names_call_object_and_errno() {
        let error = failed(
            "TUNSETIFF",
            "taut0",
            io::Error::from_raw_os_error(libc::EPERM),
        );
        assert_eq!(
            error.to_string(),
            "TUNSETIFF taut0: Operation not permitted (os error 1)"
        );
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(errno(&error), Some(libc::EPERM));
    }

    #[test]
    fn enobufs_of_umem_reg_is_permission_denied() {
        let of = |call| failed(call, "veth0", io::Error::from_raw_os_error(libc::ENOBUFS));
        let kinds = [XDP_UMEM_REG, "sendto"].map(|call| of(call).kind());
        let full = io::Error::from_raw_os_error(libc::ENOBUFS).kind();
        assert_eq!(kinds, [io::ErrorKind::PermissionDenied, full]);
        assert_eq!(errno(&of(XDP_UMEM_REG)), Some(libc::ENOBUFS));
    }
}
