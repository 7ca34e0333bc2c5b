//! Pages that the kernel might still read after they are unmapped.

use std::io;
use std::ptr::{NonNull, null_mut};
use std::slice;

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

/// Anonymous memory, mapped for its lifetime.
///
/// Not from the allocator: pages that are unmapped while a packet is still sent from them stay with
/// the packet, so bytes of other data can never be sent.
#[derive(Debug)]
pub(crate) struct Pages {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: plain memory with one owner.
unsafe impl Send for Pages {}

impl Pages {
    /// Maps `length` bytes, all 0.
    pub(crate) fn new(length: usize) -> io::Result<Self> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new private mapping at an address that the kernel chooses.
        let start = unsafe { mmap_anonymous(null_mut(), length, access, MapFlags::PRIVATE)? };
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, length })
    }

    /// Returns all bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: mapped for as long as `self` lives, initialised by the kernel, and written only
        // through `bytes_mut`, which is exclusive.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }

    /// Returns all bytes for writing. The caller must not write bytes from which a packet is being
    /// sent.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for `bytes`, and `self` is borrowed exclusively. The kernel only reads.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the mapping is owned, and no reference into it outlives `self`.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.length) };
    }
}
