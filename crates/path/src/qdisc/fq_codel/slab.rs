//! One store for the packets of all flows: made at the start, never grown.

use alloc::vec::Vec;

use super::super::Stamped;

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
    waiting: Option<Stamped>,
    /// The one behind it in its line, or the next free one.
    next: u32,
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

    /// Puts a packet at the end of `line`.
    pub fn push(&mut self, line: &mut Line, stamped: Stamped) {
        line.bytes += weight(&stamped);
        let slot = Slot {
            waiting: Some(stamped),
            next: NONE,
        };
        let index = self.first_free;
        let index = match self.slots.get_mut(index as usize) {
            Some(free) => {
                self.first_free = free.next;
                *free = slot;
                index
            }
            None => {
                self.slots.push(slot);
                self.slots.len() as u32 - 1
            }
        };
        match self.slots.get_mut(line.last as usize) {
            Some(last) => last.next = index,
            None => line.first = index,
        }
        line.last = index;
    }

    /// Takes the packet at the head of `line`.
    pub fn pop(&mut self, line: &mut Line) -> Option<Stamped> {
        let index = line.first;
        let slot = self.slots.get_mut(index as usize)?;
        let stamped = slot.waiting.take()?;
        line.first = slot.next;
        slot.next = self.first_free;
        self.first_free = index;
        if line.first == NONE {
            line.last = NONE;
        }
        line.bytes -= weight(&stamped);
        Some(stamped)
    }
}

/// What a packet counts in its line, in bytes. Without any it counts as one: what waits must weigh
/// something.
fn weight(stamped: &Stamped) -> u64 {
    stamped.packet.wire_bytes.max(1).into()
}
