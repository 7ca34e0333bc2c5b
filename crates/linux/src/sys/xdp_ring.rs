//! The memory of one ring of an AF_XDP socket, shared with the kernel.

use std::io;
use std::os::fd::AsFd;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use memmap2::{MmapOptions, MmapRaw};
use rustix::net::xdp::XdpRingOffset;

use crate::shared_ring::Memory;

/// A frame in the TX and RX rings: `struct xdp_desc`, without its options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Descriptor {
    /// Its start in the umem.
    pub(crate) address: u64,
    pub(crate) length_bytes: u32,
}

impl Descriptor {
    /// Returns the words of its slot.
    #[inline]
    pub(crate) fn to_words(self) -> [u64; 2] {
        let [a, b, c, d] = self.length_bytes.to_ne_bytes();
        [self.address, u64::from_ne_bytes([a, b, c, d, 0, 0, 0, 0])]
    }

    /// Reads the words of its slot.
    #[inline]
    pub(crate) fn from_words([address, other]: [u64; 2]) -> Self {
        let [a, b, c, d, ..] = other.to_ne_bytes();
        Self {
            address,
            length_bytes: u32::from_ne_bytes([a, b, c, d]),
        }
    }
}

/// Positions in [`MappedRing::words`].
const PRODUCER: usize = 0;
const CONSUMER: usize = 1;
const FLAGS: usize = 2;

/// A ring that the kernel allocated and this process mapped. A slot has two words in the TX and RX
/// rings, see [`Descriptor`], and one in the FILL and COMPLETION rings: an address in the umem.
#[derive(Debug)]
pub struct MappedRing<const WORDS: usize> {
    _mapping: MmapRaw,
    words: [NonNull<AtomicU32>; 3],
    first_slot: NonNull<[AtomicU64; WORDS]>,
    slots: u32,
}

// SAFETY: the mapping belongs to the process, not to a thread, and is only accessed as atomics.
unsafe impl<const WORDS: usize> Send for MappedRing<WORDS> {}
// SAFETY: as for `Send`.
unsafe impl<const WORDS: usize> Sync for MappedRing<WORDS> {}

impl<const WORDS: usize> MappedRing<WORDS> {
    /// Maps the ring of `slots` slots (a power of two) at `page_offset` of `fd`.
    pub(crate) fn map(
        fd: impl AsFd,
        page_offset: u64,
        layout: &XdpRingOffset,
        slots: u32,
    ) -> io::Result<Arc<Self>> {
        // Before Linux 5.4 there were no flags.
        let flags = layout.flags.ok_or(io::ErrorKind::Unsupported)?;
        let words = [layout.producer, layout.consumer, flags].map(|at| at as usize);
        let first_slot = layout.desc as usize;
        let mapping_bytes = first_slot + slots as usize * size_of::<[AtomicU64; WORDS]>();
        let inside = words
            .iter()
            .all(|&at| at.is_multiple_of(4) && at + 4 <= first_slot);
        if !slots.is_power_of_two() || !inside || !first_slot.is_multiple_of(8) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mapping = MmapOptions::new()
            .offset(page_offset)
            .len(mapping_bytes)
            .populate()
            .map_raw(&fd.as_fd())?;
        let start = NonNull::new(mapping.as_mut_ptr()).ok_or(io::ErrorKind::InvalidData)?;
        // SAFETY: all four are inside the mapping, as was checked above: words before the slots,
        // aligned; the slots up to its end, and a mapping starts at a page.
        let (words, first_slot) = unsafe {
            (
                words.map(|at| start.add(at).cast()),
                start.add(first_slot).cast(),
            )
        };
        Ok(Arc::new(Self {
            _mapping: mapping,
            words,
            first_slot,
            slots,
        }))
    }

    #[inline]
    fn word(&self, number: usize) -> &AtomicU32 {
        // SAFETY: inside the mapping and aligned, see `map`; the mapping lives as long as `self`.
        unsafe { self.words[number].as_ref() }
    }

    #[inline]
    fn slot(&self, position: u32) -> &[AtomicU64; WORDS] {
        let index = (position & (self.slots - 1)) as usize;
        // SAFETY: the index is below the number of slots, a power of two, all of which are in the
        // mapping, which lives as long as `self`. A slot consists of atomics, for which any bytes
        // are valid.
        unsafe { self.first_slot.add(index).as_ref() }
    }
}

/// Slots are accessed as atomics, because the kernel might read them.
impl<const WORDS: usize> Memory for MappedRing<WORDS> {
    type Entry = [u64; WORDS];

    #[inline]
    fn produced(&self) -> u32 {
        self.word(PRODUCER).load(Ordering::Acquire)
    }

    #[inline]
    fn consumed(&self) -> u32 {
        self.word(CONSUMER).load(Ordering::Acquire)
    }

    #[inline]
    fn publish(&self, position: u32) {
        self.word(PRODUCER).store(position, Ordering::Release);
    }

    #[inline]
    fn release(&self, position: u32) {
        self.word(CONSUMER).store(position, Ordering::Release);
    }

    #[inline]
    fn needs_wakeup(&self) -> bool {
        self.word(FLAGS).load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }

    #[inline]
    fn slots(&self) -> u32 {
        self.slots
    }

    #[inline]
    fn read(&self, position: u32) -> [u64; WORDS] {
        let slot = self.slot(position).each_ref();
        slot.map(|word| word.load(Ordering::Relaxed))
    }

    #[inline]
    fn write(&self, position: u32, entry: [u64; WORDS]) {
        for (word, value) in self.slot(position).iter().zip(entry) {
            word.store(value, Ordering::Relaxed);
        }
    }
}
