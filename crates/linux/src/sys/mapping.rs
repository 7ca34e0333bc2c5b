//! Memory mappings of the process.

use std::io;
use std::os::fd::BorrowedFd;
use std::ptr::{NonNull, null_mut};

use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

/// A readable and writable mapping, removed when it is dropped.
#[derive(Debug)]
pub(super) struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a mapping belongs to the process, not to a thread. `Mapping` itself never accesses the
// memory; each user of `start` states why its accesses are sound.
unsafe impl Send for Mapping {}
// SAFETY: as for `Send`.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps zeroed memory without a file.
    pub(super) fn anonymous(bytes: usize) -> io::Result<Self> {
        let flags = MapFlags::PRIVATE | MapFlags::POPULATE;
        // SAFETY: a new mapping at an address of the kernel's choice changes no existing memory.
        let start = unsafe {
            mmap_anonymous(null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, flags)?
        };
        Self::new(start.cast(), bytes)
    }

    /// Maps `bytes` of the file `fd` from `offset` on, shared with its other users. `flags` are
    /// added to `MAP_SHARED`.
    pub(super) fn shared(
        fd: BorrowedFd<'_>,
        offset: u64,
        bytes: usize,
        flags: MapFlags,
    ) -> io::Result<Self> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::SHARED | flags;
        // SAFETY: as in `anonymous`.
        let start = unsafe { mmap(null_mut(), bytes, protection, flags, fd, offset)? };
        Self::new(start.cast(), bytes)
    }

    fn new(start: *mut u8, bytes: usize) -> io::Result<Self> {
        let start = NonNull::new(start).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Self { start, bytes })
    }

    /// Returns the first byte, aligned to a page; valid as long as the mapping.
    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: `start` and `bytes` are those of the mapping, and no borrow outlives `self`.
        // `munmap` cannot fail with them.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}
