//! fsopen(2) and fsmount(2): a file system that is mounted nowhere.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// From mount.h: the flag of both calls that closes the descriptor in a program we start.
const CLOEXEC: libc::c_uint = 1;
/// `FSCONFIG_CMD_CREATE`
const CREATE: libc::c_uint = 6;
/// `MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC`
const HARMLESS: libc::c_uint = 0b1110;

/// Mounts a file system of `kind` at no path: only who has the descriptor can look at it.
pub(crate) fn detached(kind: &CStr) -> io::Result<OwnedFd> {
    // SAFETY: `kind` ends with a zero and outlives the call.
    let context = owned(unsafe { libc::syscall(libc::SYS_fsopen, kind.as_ptr(), CLOEXEC) })?;
    let none = std::ptr::null::<libc::c_char>();
    // SAFETY: this command takes no key and no value, so both may be null.
    let created = unsafe {
        libc::syscall(
            libc::SYS_fsconfig,
            context.as_raw_fd(),
            CREATE,
            none,
            none,
            0,
        )
    };
    if created < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: no pointers.
    owned(unsafe { libc::syscall(libc::SYS_fsmount, context.as_raw_fd(), CLOEXEC, HARMLESS) })
}

fn owned(answer: libc::c_long) -> io::Result<OwnedFd> {
    if answer < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel just gave us this descriptor and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(answer as RawFd) })
}
