//! The memory of the frames, registered with the kernel.

use std::ptr::NonNull;

use memmap2::MmapMut;
use xdpilone::{Errno, Umem, UmemConfig};

/// A umem and its memory.
pub struct Memory {
    // Dropped first, so that the socket is closed before its memory is unmapped.
    pub umem: Umem,
    pub bytes: MmapMut,
}

impl Memory {
    /// Registers `bytes`, in frames as `config` describes.
    pub fn register(mut bytes: MmapMut, config: UmemConfig) -> Result<Self, Errno> {
        let area = NonNull::from(&mut bytes[..]);
        // SAFETY: a mapping starts at a page. It does not move when `bytes` does, and it lives as
        // long as the umem. Frames in the device are not accessed: `FrameRing` has their packets.
        let umem = unsafe { Umem::new(config, area) }?;
        Ok(Self { umem, bytes })
    }
}
