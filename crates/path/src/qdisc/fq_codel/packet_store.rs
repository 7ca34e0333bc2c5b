//! One store for the packets of all flows, with a fixed capacity.

use alloc::vec::Vec;
use core::hint::black_box;

use crate::packet::Packet;

/// No slot, or no flow.
pub(crate) const NONE: u32 = u32::MAX;

/// Packets by index. Free slots are reused in LIFO order, because they are still in the cache.
#[derive(Debug)]
pub(crate) struct PacketStore {
    slots: Vec<Slot>,
    first_free: u32,
}

/// One cache line, so that every operation on a packet touches only one.
#[derive(Debug)]
#[repr(align(64))]
struct Slot {
    packet: Option<Packet>,
    since_ns: u64,
    /// The next packet in its list, or the next free slot.
    next: u32,
}

const _: () = assert!(size_of::<Slot>() == 64);

/// A queue of packets within a [`PacketStore`].
#[derive(Debug, Clone)]
pub(crate) struct PacketList {
    first: u32,
    /// Undefined while `first` is [`NONE`].
    last: u32,
    /// The bytes of its packets.
    bytes: u64,
}

impl Default for PacketList {
    fn default() -> Self {
        Self {
            first: NONE,
            last: NONE,
            bytes: 0,
        }
    }
}

impl PacketList {
    /// Returns the bytes of its packets.
    #[inline]
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.first == NONE
    }
}

impl PacketStore {
    /// A store for `packets` packets. Unused memory is never touched.
    pub(crate) fn new(packets: usize) -> Self {
        Self {
            slots: Vec::with_capacity(packets),
            first_free: NONE,
        }
    }

    /// Appends a packet to `list`, enqueued at `now_ns`.
    #[inline(always)]
    pub(crate) fn push(&mut self, list: &mut PacketList, packet: Packet, now_ns: u64) {
        list.bytes += u64::from(packet.wire_bytes());
        let free = self.first_free;
        let index = match self.slots.get_mut(free as usize) {
            Some(slot) => {
                self.first_free = slot.next;
                slot.next = NONE;
                slot.since_ns = now_ns;
                slot.packet = Some(packet);
                free
            }
            None => self.add(packet, now_ns),
        };
        if list.first == NONE {
            list.first = index;
        } else if let Some(last) = self.slots.get_mut(list.last as usize) {
            last.next = index;
        }
        list.last = index;
    }

    /// Stores a packet in a slot that was never used.
    #[cold]
    #[inline(never)]
    fn add(&mut self, packet: Packet, now_ns: u64) -> u32 {
        self.slots.push(Slot {
            packet: Some(packet),
            next: NONE,
            since_ns: now_ns,
        });
        self.slots.len() as u32 - 1
    }

    /// Returns the packet at the head of `list` and its enqueue time, in ns.
    #[inline]
    pub(crate) fn oldest(&mut self, list: &PacketList) -> Option<(&mut Packet, u64)> {
        let slot = self.slots.get_mut(list.first as usize)?;
        Some((slot.packet.as_mut()?, slot.since_ns))
    }

    /// Removes the packet at the head of `list`, after a call of `leaving` with it in place:
    /// reading it there is cheaper than another move.
    #[inline(always)]
    pub(crate) fn pop(
        &mut self,
        list: &mut PacketList,
        leaving: impl FnOnce(&Packet),
    ) -> Option<Packet> {
        let index = list.first;
        let slot = self.slots.get_mut(index as usize)?;
        let packet = slot.packet.as_ref()?;
        list.bytes -= u64::from(packet.wire_bytes());
        leaving(packet);
        list.first = slot.next;
        slot.next = self.first_free;
        self.first_free = index;
        slot.packet.take()
    }

    /// Requeues the remainder of the packet that was removed last, at the head of `list`, with its
    /// enqueue time.
    pub(crate) fn put_back(&mut self, list: &mut PacketList, remainder: Packet) {
        let index = self.first_free;
        let Some(slot) = self.slots.get_mut(index as usize) else {
            return;
        };
        self.first_free = slot.next;
        slot.next = list.first;
        list.bytes += u64::from(remainder.wire_bytes());
        slot.packet = Some(remainder);
        if list.first == NONE {
            list.last = index;
        }
        list.first = index;
    }

    /// Returns the enqueue time of the packet at the head of `list`, in ns.
    #[inline(always)]
    pub(crate) fn oldest_since_ns(&self, list: &PacketList) -> Option<u64> {
        Some(self.slots.get(list.first as usize)?.since_ns)
    }

    /// Returns `true` if the next packet needs no slot that was never used.
    #[inline]
    pub(crate) fn has_free_slot(&self) -> bool {
        (self.first_free as usize) < self.slots.len()
    }

    /// Loads the packet at the head of `list` into the cache: an early read is the only prefetch in
    /// safe code.
    #[inline]
    pub(crate) fn prefetch(&self, list: &PacketList) {
        if let Some(slot) = self.slots.get(list.first as usize) {
            black_box(slot.next);
        }
    }
}
