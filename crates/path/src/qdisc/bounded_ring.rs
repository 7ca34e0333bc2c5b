//! A bounded queue whose elements move in and out with few instructions.

use alloc::vec::Vec;

use crate::packet::Packet;

/// The length of a transmit queue of an Ethernet device (`txqueuelen`).
pub(super) const DEFAULT_LIMIT_PACKETS: u32 = 1000;

/// The maximum number of packets in a discipline. Their frames must exist.
pub(crate) const MAX_LIMIT_PACKETS: u32 = 1_000_000;

/// Returns the capacity of a ring for `limit_packets` packets, so that nothing is allocated later.
pub(crate) fn capacity(limit_packets: u32) -> usize {
    limit_packets.min(MAX_LIMIT_PACKETS) as usize
}

/// A ring of fixed capacity. Free slots hold `T::VACANT`, so that one exchange moves an element
/// out: a check of each slot costs more than the move.
#[derive(Debug)]
pub(crate) struct BoundedRing<T> {
    /// Grows to the capacity, a power of two, as slots are used for the first time: unused memory
    /// is never touched. Nothing is allocated after creation.
    slots: Vec<T>,
    mask: usize,
    head: usize,
    len: usize,
}

/// An element with a vacant value, and without a destructor that matters.
pub(crate) trait Vacant {
    /// The value of a free slot.
    const VACANT: Self;
}

impl Vacant for Packet {
    const VACANT: Self = Self::NOTHING;
}

impl Vacant for u64 {
    const VACANT: Self = 0;
}

impl<T: Vacant> BoundedRing<T> {
    /// A ring for `capacity` elements.
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

    /// Appends an element. The caller ensures that there is room.
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
        // Vacant values need no drop.
        core::mem::forget(core::mem::replace(&mut self.slots[index], thing));
    }

    /// Appends a slot that was never used. It does not take the element as an argument: that would
    /// be written to the stack for this call.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.slots.push(T::VACANT);
    }

    /// Returns the first element in place.
    #[inline]
    pub(crate) fn first_mut(&mut self) -> Option<&mut T> {
        if self.len == 0 {
            return None;
        }
        self.slots.get_mut(self.head)
    }

    /// Removes the first element.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<T> {
        if self.len == 0 {
            return None;
        }
        Some(self.take_first())
    }

    /// Puts back the element that was removed last, or its remainder.
    pub(crate) fn put_back(&mut self, thing: T) {
        let before = self.head.wrapping_sub(1) & self.mask;
        if let Some(slot) = self.slots.get_mut(before) {
            // Vacant values need no drop.
            core::mem::forget(core::mem::replace(slot, thing));
            self.head = before;
            self.len += 1;
        }
    }

    /// Removes the first element of a ring that is not empty; of an empty one, returns the vacant
    /// value.
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
