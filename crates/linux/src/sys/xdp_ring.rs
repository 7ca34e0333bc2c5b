//! The memory of one ring of an AF_XDP socket, shared with the kernel.

use std::io;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rustix::mm::MapFlags;
use rustix::net::xdp::XdpRingOffset;

use super::mapping::Mapping;
use crate::shared_ring::{Memory, Word};

impl Word for AtomicU32 {
    #[inline]
    fn load_relaxed(&self) -> u32 {
        self.load(Ordering::Relaxed)
    }

    #[inline]
    fn load_acquire(&self) -> u32 {
        self.load(Ordering::Acquire)
    }

    #[inline]
    fn store_release(&self, value: u32) {
        self.store(value, Ordering::Release);
    }
}

/// The content of a slot, in the kernel's layout. Accessed as atomics, because the kernel might
/// read it.
pub trait RingSlot {
    type Entry: Copy;
    fn get(&self) -> Self::Entry;
    fn set(&self, entry: Self::Entry);
}

/// A slot of the FILL and COMPLETION rings: an address in the umem.
#[repr(C)]
pub struct AddressSlot(AtomicU64);

impl RingSlot for AddressSlot {
    type Entry = u64;

    #[inline]
    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    #[inline]
    fn set(&self, address: u64) {
        self.0.store(address, Ordering::Relaxed);
    }
}

/// A slot of the TX and RX rings: `struct xdp_desc`.
#[repr(C)]
pub struct DescriptorSlot {
    address: AtomicU64,
    length_bytes: AtomicU32,
    options: AtomicU32,
}

/// A frame in the TX and RX rings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Descriptor {
    /// Its start in the umem.
    pub(crate) address: u64,
    pub(crate) length_bytes: u32,
    pub(crate) options: u32,
}

impl RingSlot for DescriptorSlot {
    type Entry = Descriptor;

    #[inline]
    fn get(&self) -> Descriptor {
        Descriptor {
            address: self.address.load(Ordering::Relaxed),
            length_bytes: self.length_bytes.load(Ordering::Relaxed),
            options: self.options.load(Ordering::Relaxed),
        }
    }

    #[inline]
    fn set(&self, entry: Descriptor) {
        self.address.store(entry.address, Ordering::Relaxed);
        self.length_bytes
            .store(entry.length_bytes, Ordering::Relaxed);
        self.options.store(entry.options, Ordering::Relaxed);
    }
}

/// A ring that the kernel allocated and this process mapped.
pub struct MappedRing<S> {
    _mapping: Mapping,
    producer: NonNull<AtomicU32>,
    consumer: NonNull<AtomicU32>,
    flags: NonNull<AtomicU32>,
    first_slot: NonNull<S>,
    slots: u32,
}

// SAFETY: the mapping belongs to the process, not to a thread, and is only accessed as atomics.
unsafe impl<S> Send for MappedRing<S> {}
// SAFETY: as for `Send`.
unsafe impl<S> Sync for MappedRing<S> {}

impl<S: RingSlot> MappedRing<S> {
    /// Maps the ring of `slots` slots (a power of two) at `page_offset` of `fd`.
    pub(crate) fn map(
        fd: BorrowedFd<'_>,
        page_offset: u64,
        layout: XdpRingOffset,
        slots: u32,
    ) -> io::Result<Self> {
        // Before Linux 5.4 there were no flags.
        let flags = layout.flags.ok_or(io::ErrorKind::Unsupported)?;
        let words = [layout.producer, layout.consumer, flags].map(|at| at as usize);
        let first_slot = layout.desc as usize;
        let slots_bytes = slots as usize * size_of::<S>();
        let mapping_bytes = first_slot + slots_bytes;
        let inside = words
            .iter()
            .all(|&at| at.is_multiple_of(4) && at + 4 <= first_slot);
        if !slots.is_power_of_two() || !inside || !first_slot.is_multiple_of(align_of::<S>()) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mapping = Mapping::shared(fd, page_offset, mapping_bytes, MapFlags::POPULATE)?;
        let start = mapping.start();
        // SAFETY: all four are inside the mapping, as was checked above: words before the slots,
        // aligned; the slots up to its end, and a mapping starts at a page.
        let (producer, consumer, flags, first_slot) = unsafe {
            (
                start.add(words[0]).cast(),
                start.add(words[1]).cast(),
                start.add(words[2]).cast(),
                start.add(first_slot).cast(),
            )
        };
        Ok(Self {
            _mapping: mapping,
            producer,
            consumer,
            flags,
            first_slot,
            slots,
        })
    }

    #[inline]
    fn slot(&self, position: u32) -> &S {
        let index = (position & (self.slots - 1)) as usize;
        // SAFETY: the index is below the number of slots, a power of two, all of which are in the
        // mapping, which lives as long as `self`. A slot consists of atomics, for which any bytes
        // are valid.
        unsafe { self.first_slot.add(index).as_ref() }
    }
}

impl<S: RingSlot> Memory for MappedRing<S> {
    type Word = AtomicU32;
    type Entry = S::Entry;

    #[inline]
    fn producer(&self) -> &AtomicU32 {
        // SAFETY: inside the mapping and aligned, see `map`; the mapping lives as long as `self`.
        unsafe { self.producer.as_ref() }
    }

    #[inline]
    fn consumer(&self) -> &AtomicU32 {
        // SAFETY: as for `producer`.
        unsafe { self.consumer.as_ref() }
    }

    #[inline]
    fn flags(&self) -> &AtomicU32 {
        // SAFETY: as for `producer`.
        unsafe { self.flags.as_ref() }
    }

    #[inline]
    fn slots(&self) -> u32 {
        self.slots
    }

    #[inline]
    fn read(&self, position: u32) -> S::Entry {
        self.slot(position).get()
    }

    #[inline]
    fn write(&self, position: u32, entry: S::Entry) {
        self.slot(position).set(entry);
    }
}

impl<S> std::fmt::Debug for MappedRing<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MappedRing")
            .field("slots", &self.slots)
            .finish_non_exhaustive()
    }
}
