//! Pages of our own, which the kernel may still read after we let go of them.

use std::io;
use std::ptr::NonNull;
use std::slice;

/// Anonymous memory, mapped for its lifetime.
///
/// Not from the allocator: pages that are unmapped while a packet is still sent from them stay the
/// packet's, so nobody else's bytes can ever be sent.
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
        // SAFETY: a fresh private mapping at a place of the kernel's choice.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        match NonNull::new(start.cast()) {
            Some(start) => Ok(Self { start, length }),
            None => Err(io::Error::from(io::ErrorKind::OutOfMemory)),
        }
    }

    /// All of it.
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: mapped for as long as `self` lives, initialised by the kernel, and written only
        // through `bytes_mut`, which is exclusive.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }

    /// All of it, to write. What a packet is sent from must not be written: the caller knows.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for `bytes`, and we hold it exclusively. The kernel only reads.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: our own mapping, and no reference into it outlives `self`.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}
