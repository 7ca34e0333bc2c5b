//! The packets in a transmit ring, which both halves access.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use taut_path::{InRing, Packet};

use crate::sys::packet_ring::SlotReader;

/// State shared by the two halves. Packets are numbered from 0 as they are submitted; number `n` is
/// in slot `n` modulo the ring.
#[derive(Debug)]
pub(super) struct RingState {
    pub(super) reader: SlotReader,
    /// The packet of each slot that is not free. A slot belongs to one half at a time, so no lock
    /// is ever contended.
    slots: Box<[Mutex<Option<Packet>>]>,
    /// Maximum number of packets in the ring. The kernel's slots are a power of two, and can be
    /// more.
    capacity: u32,
    /// Packets submitted, and their bytes, wrapping; written by the sending half.
    submitted: AtomicU64,
    submitted_bytes: AtomicU32,
    /// Packets reaped, and their bytes, wrapping; written by the completing half.
    reaped: AtomicU64,
    reaped_bytes: AtomicU32,
}

impl RingState {
    /// Creates the state of a ring with `slots` slots in the kernel, of which `capacity` are used.
    pub(super) fn new(reader: SlotReader, slots: usize, capacity: u32) -> Self {
        Self {
            reader,
            slots: (0..slots).map(|_| Mutex::new(None)).collect(),
            capacity,
            submitted: AtomicU64::new(0),
            submitted_bytes: AtomicU32::new(0),
            reaped: AtomicU64::new(0),
            reaped_bytes: AtomicU32::new(0),
        }
    }

    pub(super) fn slots_free(&self) -> u32 {
        self.capacity.saturating_sub(self.packets_in_ring())
    }

    pub(super) fn packets_in_ring(&self) -> u32 {
        let reaped = self.reaped.load(Ordering::Acquire);
        // Submitted is read last, so the difference is never negative.
        (self.submitted() - reaped) as u32
    }

    /// Returns the packets submitted and not reaped. Exact for the completing half while no packet
    /// is submitted.
    pub(super) fn in_ring(&self) -> InRing {
        let packets = self.packets_in_ring();
        let submitted = self.submitted_bytes.load(Ordering::Relaxed);
        let reaped = self.reaped_bytes.load(Ordering::Relaxed);
        InRing {
            packets,
            bytes: submitted.wrapping_sub(reaped),
        }
    }

    /// Returns the number of packets submitted. All their slots are filled.
    pub(super) fn submitted(&self) -> u64 {
        self.submitted.load(Ordering::Acquire)
    }

    /// Stores the packet of the next number and publishes it to the other half. Its slot must be
    /// filled already.
    pub(super) fn put(&self, number: u64, packet: Packet) {
        add(&self.submitted_bytes, packet.wire_bytes());
        let slot = &self.slots[self.slot(number) as usize];
        *slot.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(packet);
        self.submitted.store(number + 1, Ordering::Release);
    }

    /// Takes the packet of `number`; its slot is free after [`free`](Self::free) was called.
    pub(super) fn pick_up(&self, number: u64) -> Option<Packet> {
        let slot = &self.slots[self.slot(number) as usize];
        let packet = slot
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .take()?;
        add(&self.reaped_bytes, packet.wire_bytes());
        Some(packet)
    }

    /// Frees the slots of all packets below `reaped`.
    pub(super) fn free(&self, reaped: u64) {
        self.reaped.store(reaped, Ordering::Release);
    }

    /// Returns the slot of a packet.
    pub(super) fn slot(&self, number: u64) -> u32 {
        (number % self.slots.len() as u64) as u32
    }
}

/// Adds to a sum that only the calling half writes.
fn add(sum: &AtomicU32, bytes: u32) {
    let before = sum.load(Ordering::Relaxed);
    sum.store(before.wrapping_add(bytes), Ordering::Relaxed);
}
