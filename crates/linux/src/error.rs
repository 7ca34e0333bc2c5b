//! Errors that say which call failed on what.

use std::error::Error;
use std::fmt;
use std::io;

/// A system call that failed; found as the inner error of the `io::Error`s of this crate.
#[derive(Debug)]
pub struct SyscallError {
    call: &'static str,
    object: String,
    cause: io::Error,
    /// What was asked for, where the call and its object do not say enough.
    detail: Option<String>,
}

impl SyscallError {
    /// The system call, ioctl or netlink request.
    pub fn call(&self) -> &'static str {
        self.call
    }

    /// The kernel's error number, if it gave one.
    pub fn errno(&self) -> Option<i32> {
        self.cause.raw_os_error()
    }
}

impl fmt::Display for SyscallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.call, self.object, self.cause)?;
        match &self.detail {
            Some(detail) => write!(f, "; {detail}"),
            None => Ok(()),
        }
    }
}

/// No source: the message has the cause already, and a chain would say it twice.
impl Error for SyscallError {}

/// The kernel's error number in `error`, also when this crate wrapped it.
pub fn errno(error: &io::Error) -> Option<i32> {
    error
        .raw_os_error()
        .or_else(|| error.get_ref()?.downcast_ref::<SyscallError>()?.errno())
}

/// The request that locks the memory of an AF_XDP socket.
pub(crate) const XDP_UMEM_REG: &str = "XDP_UMEM_REG";

/// Wraps what `call` on `object` failed with. The kind stays, but for a device that is not there,
/// and for memory that may not be locked, of which the kernel says that there are no buffers.
pub(crate) fn failed(call: &'static str, object: &str, cause: impl Into<io::Error>) -> io::Error {
    wrap(call, object, cause.into(), None)
}

/// [`failed`] as the argument of `map_err`.
pub(crate) fn naming<E: Into<io::Error>>(
    call: &'static str,
    object: &str,
) -> impl FnOnce(E) -> io::Error {
    move |cause| failed(call, object, cause)
}

/// As [`failed`], with what was asked for.
pub(crate) fn failed_with(
    call: &'static str,
    object: &str,
    cause: impl Into<io::Error>,
    detail: impl FnOnce() -> String,
) -> io::Error {
    wrap(call, object, cause.into(), Some(detail()))
}

fn wrap(call: &'static str, object: &str, cause: io::Error, detail: Option<String>) -> io::Error {
    let kind = match cause.raw_os_error() {
        Some(libc::ENODEV | libc::ENXIO) => io::ErrorKind::NotFound,
        Some(libc::ENOBUFS) if call == XDP_UMEM_REG => io::ErrorKind::PermissionDenied,
        _ => cause.kind(),
    };
    let object = object.to_owned();
    io::Error::new(
        kind,
        SyscallError {
            call,
            object,
            cause,
            detail,
        },
    )
}

/// A mistake of the caller that the kernel need not see.
pub(crate) fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
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
    fn memory_that_may_not_be_locked_is_not_allowed_and_a_full_queue_is_full() {
        let of = |call| failed(call, "veth0", io::Error::from_raw_os_error(libc::ENOBUFS));
        let kinds = [XDP_UMEM_REG, "sendto"].map(|call| of(call).kind());
        let full = io::Error::from_raw_os_error(libc::ENOBUFS).kind();
        assert_eq!(kinds, [io::ErrorKind::PermissionDenied, full]);
        assert_eq!(errno(&of(XDP_UMEM_REG)), Some(libc::ENOBUFS));
    }
}
