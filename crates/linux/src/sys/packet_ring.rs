//! The memory of a transmit ring (`PACKET_TX_RING`, `TPACKET_V2`), shared with the kernel.
//!
//! Only the [`SlotWriter`], of which there is one, writes a slot's bytes. The status word contains
//! the owner of the slot: available slots belong to the writer, all others to the kernel, which
//! only reads the bytes.

use std::io;
use std::mem::offset_of;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use memmap2::{MmapOptions, MmapRaw};
use rustix::param::page_size;

use super::socket::set_option;

/// Offset of a frame in its slot without `PACKET_TX_HAS_OFF`: the header's aligned length
/// (`TPACKET2_HDRLEN` less a `sockaddr_ll`).
const FRAME_OFFSET: usize =
    size_of::<libc::tpacket2_hdr>().next_multiple_of(libc::TPACKET_ALIGNMENT);

/// The layout of a ring in memory. All three are powers of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// Bytes from one slot to the next; at least [`FRAME_OFFSET`].
    pub(crate) slot_bytes: usize,
    pub(crate) slots: usize,
    /// Bytes of one contiguous allocation of the kernel: at least a page and a slot.
    block_bytes: usize,
}

impl Geometry {
    /// Returns the layout of a ring of at least `slots` slots for frames of `frame_bytes`; `None`
    /// for 4 GiB or more.
    pub(crate) fn new(slots: u32, frame_bytes: u32) -> Option<Self> {
        let slot_bytes = FRAME_OFFSET.checked_add(frame_bytes as usize)?;
        let slot_bytes = slot_bytes.checked_next_power_of_two()?;
        let block_bytes = slot_bytes.max(page_size());
        // Whole blocks, of which all sizes are powers of two.
        let slots = (slots as usize).checked_next_power_of_two()?;
        let slots = slots.max(block_bytes / slot_bytes);
        let bytes = slots.checked_mul(slot_bytes)?;
        u32::try_from(bytes).ok()?;
        Some(Self {
            slot_bytes,
            slots,
            block_bytes,
        })
    }

    fn bytes(self) -> usize {
        self.slot_bytes * self.slots
    }
}

/// The mapped ring. Two threads access the same words, as atomics; only the one [`SlotWriter`]
/// accesses bytes.
#[derive(Debug)]
pub(crate) struct PacketRing {
    mapping: MmapRaw,
    geometry: Geometry,
}

impl PacketRing {
    /// Creates a transmit ring for the packet socket `fd` and maps it.
    pub(crate) fn open(fd: impl AsFd, ring: Geometry) -> io::Result<(SlotWriter, Arc<Self>)> {
        let request = libc::tpacket_req {
            tp_block_size: ring.block_bytes as u32,
            tp_block_nr: (ring.bytes() / ring.block_bytes) as u32,
            tp_frame_size: ring.slot_bytes as u32,
            tp_frame_nr: ring.slots as u32,
        };
        set_option(&fd, libc::SOL_PACKET, libc::PACKET_TX_RING, request)?;
        let mapping = MmapOptions::new().len(ring.bytes()).map_raw(&fd.as_fd())?;
        let memory = Arc::new(Self {
            mapping,
            geometry: ring,
        });
        Ok((SlotWriter(Arc::clone(&memory)), memory))
    }

    /// Returns a word of the header of a packet's slot.
    fn word(&self, packet: u64, offset: usize) -> &AtomicU32 {
        let at = self.slot_start(packet) + offset;
        // SAFETY: `slot_start` is inside the mapping with a whole slot after it, and `offset` is
        // that of a 32-bit field of the header, so the word is inside and aligned (a slot starts at
        // a power of two of at least 64). The mapping lives as long as `self`. This process
        // accesses it only as an atomic.
        unsafe { AtomicU32::from_ptr(self.mapping.as_mut_ptr().add(at).cast()) }
    }

    fn status_word(&self, packet: u64) -> &AtomicU32 {
        self.word(packet, offset_of!(libc::tpacket2_hdr, tp_status))
    }

    /// Returns the slot of a packet: its number modulo the ring.
    pub(crate) fn slot(&self, packet: u64) -> u32 {
        (packet % self.geometry.slots as u64) as u32
    }

    fn slot_start(&self, packet: u64) -> usize {
        self.slot(packet) as usize * self.geometry.slot_bytes
    }

    /// Returns the status word of a packet's slot. Accesses of the kernel before it wrote the
    /// status are visible after this.
    pub(crate) fn status(&self, packet: u64) -> u32 {
        self.status_word(packet).load(Ordering::Acquire)
    }

    /// Makes a slot available that the kernel marked as malformed.
    pub(crate) fn recover(&self, packet: u64) {
        // Fails only if the slot is not marked, and then there is nothing to do.
        let _ = self.status_word(packet).compare_exchange(
            libc::TP_STATUS_WRONG_FORMAT,
            libc::TP_STATUS_AVAILABLE,
            Ordering::AcqRel,
            Ordering::Relaxed,
        );
    }
}

/// The half that fills slots.
#[derive(Debug)]
pub(crate) struct SlotWriter(Arc<PacketRing>);

impl SlotWriter {
    /// Calls `write` to fill the packet's slot and to return the length of the frame, and submits
    /// it. `false` if the slot is not available, or if `write` returned no frame.
    pub(crate) fn fill(
        &mut self,
        packet: u64,
        write: impl FnOnce(&mut [u8]) -> Option<u32>,
    ) -> bool {
        let ring = &*self.0;
        if ring.status(packet) != libc::TP_STATUS_AVAILABLE {
            return false;
        }
        let length_bytes = ring.geometry.slot_bytes - FRAME_OFFSET;
        // SAFETY: the range is inside the slot and after its header. The slot is available, so the
        // kernel does not use it; the one `SlotWriter` is borrowed exclusively, so no other code
        // here does either.
        let bytes = unsafe {
            let at = ring.slot_start(packet) + FRAME_OFFSET;
            let start = ring.mapping.as_mut_ptr().add(at);
            std::slice::from_raw_parts_mut(start, length_bytes)
        };
        let Some(frame_bytes) = write(bytes) else {
            return false;
        };
        ring.word(packet, offset_of!(libc::tpacket2_hdr, tp_len))
            .store(frame_bytes, Ordering::Relaxed);
        // Release: a reader of this status also sees the frame.
        let status = ring.status_word(packet);
        status.store(libc::TP_STATUS_SEND_REQUEST, Ordering::Release);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ring_sizes_are_powers_of_two() {
        let page = page_size();
        let ring = Geometry::new(1000, 1518).expect("fits");
        assert_eq!((ring.slot_bytes, ring.slots), (2048, 1024));
        assert_eq!(ring.block_bytes, page.max(2048));
        let small = Geometry::new(1, 86).expect("fits");
        assert_eq!((small.slot_bytes, small.slots), (128, page / 128));
        let jumbo = Geometry::new(3, 65_554).expect("fits");
        assert_eq!((jumbo.slot_bytes, jumbo.slots), (131_072, 4));
        assert_eq!(Geometry::new(1 << 16, 65_554), None);
        assert_eq!(Geometry::new(1, u32::MAX), None);
    }
}
