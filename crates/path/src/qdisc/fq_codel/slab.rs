//! One store for the packets of all flows: made at the start, never grown.

use alloc::vec::Vec;

use crate::packet::Packet;

/// No slot, or no flow.
pub const NONE: u32 = u32::MAX;

/// Packets by index. A free slot is taken again as soon as possible: it is still in the cache.
#[derive(Debug)]
pub struct Slab {
    slots: Vec<Slot>,
    first_free: u32,
}

#[derive(Debug)]
struct Slot {
    packet: Option<Packet>,
    /// The one behind it in its line, or the next free one.
    next: u32,
    since_ns: u64,
}

/// A queue of packets within a [`Slab`].
#[derive(Debug, Clone)]
pub struct Line {
    first: u32,
    last: u32,
    /// What its packets weigh together.
    pub bytes: u64,
}

impl Default for Line {
    fn default() -> Self {
        Self {
            first: NONE,
            last: NONE,
            bytes: 0,
        }
    }
}

impl Slab {
    /// Room for `packets` packets. Memory that is never needed is never touched.
    pub fn new(packets: usize) -> Self {
        Self {
            slots: Vec::with_capacity(packets),
            first_free: NONE,
        }
    }

    /// Puts a packet at the end of `line`, where it waits since `now_ns`.
    #[inline]
    pub fn push(&mut self, line: &mut Line, packet: Packet, now_ns: u64) {
        line.bytes += weight(&packet);
        let index = self.first_free;
        let index = match self.slots.get_mut(index as usize) {
            Some(free) => {
                self.first_free = free.next;
                free.packet = Some(packet);
                free.next = NONE;
                free.since_ns = now_ns;
                index
            }
            None => self.add(packet, now_ns),
        };
        match self.slots.get_mut(line.last as usize) {
            Some(last) => last.next = index,
            None => line.first = index,
        }
        line.last = index;
    }

    /// Puts a packet into a slot that was never used.
    #[cold]
    fn add(&mut self, packet: Packet, now_ns: u64) -> u32 {
        self.slots.push(Slot {
            packet: Some(packet),
            next: NONE,
            since_ns: now_ns,
        });
        self.slots.len() as u32 - 1
    }

    /// The packet at the head of `line`, and since when it waits, in ns.
    #[inline]
    pub fn oldest(&mut self, line: &Line) -> Option<(&mut Packet, u64)> {
        let slot = self.slots.get_mut(line.first as usize)?;
        Some((slot.packet.as_mut()?, slot.since_ns))
    }

    /// Takes the packet at the head of `line`.
    #[inline]
    pub fn pop(&mut self, line: &mut Line) -> Option<Packet> {
        let index = line.first;
        let slot = self.slots.get_mut(index as usize)?;
        let packet = slot.packet.take()?;
        line.first = slot.next;
        slot.next = self.first_free;
        self.first_free = index;
        if line.first == NONE {
            line.last = NONE;
        }
        line.bytes -= weight(&packet);
        Some(packet)
    }
}

/// What a packet counts in its line, in bytes. Without any it counts as one: what waits must weigh
/// something.
pub fn weight(packet: &Packet) -> u64 {
    packet.wire_bytes().into()
}
