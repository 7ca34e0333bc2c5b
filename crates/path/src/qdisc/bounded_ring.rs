//! A bounded queue of things that are moved in and out with as few instructions as can be.

use alloc::vec::Vec;

use crate::packet::Packet;

/// The most packets that a discipline can hold. Their frames must exist.
pub(crate) const MAX_LIMIT_PACKETS: u32 = 1_000_000;

/// Returns the capacity of a ring for `limit_packets` packets, so that nothing is allocated later.
pub(crate) fn capacity(limit_packets: u32) -> usize {
    limit_packets.min(MAX_LIMIT_PACKETS) as usize
}

/// A ring for a number of things that is known from the start. What is free holds `T::VACANT`, so
/// that a thing is moved out by one exchange: asking each slot whether there is something in it
/// costs more than the move.
#[derive(Debug)]
pub(crate) struct BoundedRing<T> {
    /// Grows to the capacity, which is a power of two, as slots are used for the first time: memory
    /// that is never needed is never touched. Nothing is allocated after the start.
    slots: Vec<T>,
    mask: usize,
    head: usize,
    len: usize,
}

/// Something that a free slot can hold, and that needs no care when it is overwritten.
pub(crate) trait Vacant {
    /// It.
    const VACANT: Self;
}

impl Vacant for Packet {
    const VACANT: Self = Self::NOTHING;
}

impl Vacant for u64 {
    const VACANT: Self = 0;
}

impl<T: Vacant> BoundedRing<T> {
    /// Room for `capacity` things.
    pub(crate) fn new(capacity: usize) -> Self {
        let capacity = capacity.max(1).next_power_of_two();
        Self {
            slots: Vec::with_capacity(capacity),
            mask: capacity - 1,
            head: 0,
            len: 0,
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Puts one at the end. The caller knows that there is room.
    #[inline]
    pub(crate) fn push(&mut self, thing: T) {
        debug_assert!(
            self.len <= self.mask,
            "a bounded ring is bounded by its owner"
        );
        let index = (self.head + self.len) & self.mask;
        if index >= self.slots.len() {
            self.grow();
        }
        self.len += 1;
        // What is vacant needs no drop.
        core::mem::forget(core::mem::replace(&mut self.slots[index], thing));
    }

    /// Makes the slot behind all others, the next that was never used.
    // Without the thing that goes there: it would have to be written to the stack for this call.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.slots.push(T::VACANT);
    }

    /// The first, where it is.
    #[inline]
    pub(crate) fn first_mut(&mut self) -> Option<&mut T> {
        if self.len == 0 {
            return None;
        }
        self.slots.get_mut(self.head)
    }

    /// Takes the first.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<T> {
        if self.len == 0 {
            return None;
        }
        Some(self.take_first())
    }

    /// Puts back the one that was taken last, or what is left of it.
    pub(crate) fn put_back(&mut self, thing: T) {
        let before = self.head.wrapping_sub(1) & self.mask;
        if let Some(slot) = self.slots.get_mut(before) {
            // What is vacant needs no drop.
            core::mem::forget(core::mem::replace(slot, thing));
            self.head = before;
            self.len += 1;
        }
    }

    /// Takes the first of a ring that is not empty; of an empty one, what is vacant.
    #[inline]
    pub(crate) fn take_first(&mut self) -> T {
        match self.slots.get_mut(self.head) {
            Some(slot) if self.len > 0 => {
                self.head = (self.head + 1) & self.mask;
                self.len -= 1;
                core::mem::replace(slot, T::VACANT)
            }
            _ => T::VACANT,
        }
    }
}
