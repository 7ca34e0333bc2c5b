//! A file in memory that others read while it is written, locked by who writes it.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::AtomicU64;

use super::check;

/// A file's bytes as words that both sides access as atomics.
#[derive(Debug)]
pub(crate) struct Words {
    start: NonNull<AtomicU64>,
    number: usize,
}

// SAFETY: the mapping belongs to the process, not to a thread, and is accessed as atomics only.
unsafe impl Send for Words {}
// SAFETY: as for `Send`.
unsafe impl Sync for Words {}

impl Words {
    /// Maps `number` words of `file`, at least one, all of which are given memory first: a write
    /// never meets a full file system.
    pub(crate) fn map(file: &File, number: usize) -> io::Result<Self> {
        let bytes = number * size_of::<AtomicU64>();
        // SAFETY: no pointers.
        let refused = unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, bytes as libc::off_t) };
        if refused != 0 {
            return Err(io::Error::from_raw_os_error(refused));
        }
        // SAFETY: a new shared mapping at an address of the kernel's choice touches no memory of ours.
        let start = unsafe {
            libc::mmap(
                null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::Other)?;
        Ok(Self { start, number })
    }

    /// All of them.
    pub(crate) fn all(&self) -> &[AtomicU64] {
        // SAFETY: the mapping starts at a page, has `number` words, and lives as long as `self`; a
        // word of any value is a valid atomic. The file keeps its length: it is in a directory of
        // its owner alone.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.number) }
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        let bytes = self.number * size_of::<AtomicU64>();
        // SAFETY: start and length are those of the mapping, and no borrow outlives `self`. That it
        // fails cannot be.
        unsafe { libc::munmap(self.start.as_ptr().cast(), bytes) };
    }
}

/// Locks `file` for its one writer.
pub(crate) fn lock_alone(file: &File) -> io::Result<()> {
    lock(file, libc::LOCK_EX)
}

/// Whether somebody holds the lock of `file` alone.
pub(crate) fn is_locked(file: &File) -> io::Result<bool> {
    match lock(file, libc::LOCK_SH) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(true),
        locked => locked.map(|()| false),
    }
}

fn lock(file: &File, kind: libc::c_int) -> io::Result<()> {
    // SAFETY: no pointers.
    check(unsafe { libc::flock(file.as_raw_fd(), kind | libc::LOCK_NB) }).map(drop)
}

/// Gives a file that has no name (`O_TMPFILE`) one, that must be free.
pub(crate) fn name(file: &File, path: &Path) -> io::Result<()> {
    let from = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    let to = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: both strings end with a zero and outlive the call.
    check(unsafe {
        libc::linkat(
            libc::AT_FDCWD,
            from.as_ptr(),
            libc::AT_FDCWD,
            to.as_ptr(),
            libc::AT_SYMLINK_FOLLOW,
        )
    })
    .map(drop)
}

/// The user whose rights the process has.
pub(crate) fn user() -> u32 {
    // SAFETY: no pointers, and it cannot fail.
    unsafe { libc::geteuid() }
}
