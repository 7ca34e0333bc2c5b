//! A ring buffer that reuses its memory.

use std::mem::{forget, replace};

/// A growing ring buffer. Its capacity is a power of two, so an index needs one operation.
#[derive(Debug)]
pub(crate) struct RingBuffer<T> {
    slots: Vec<T>,
    head: usize,
    len: usize,
}

/// An item of a ring buffer. An empty slot contains a vacant item, which needs no drop and is
/// overwritten without a check. An `Option` would need a check for each access.
pub(crate) trait Vacant: Sized {
    const VACANT: Self;

    /// Moves the item out of its slot.
    #[inline]
    fn take(&mut self) -> Self {
        replace(self, Self::VACANT)
    }
}

impl Vacant for u32 {
    const VACANT: Self = 0;

    /// Copies the item.
    #[inline]
    fn take(&mut self) -> Self {
        *self
    }
}

impl<T: Vacant> RingBuffer<T> {
    pub(crate) fn new() -> Self {
        Self {
            slots: vacant(16),
            head: 0,
            len: 0,
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    fn slot(&self, index: usize) -> usize {
        (self.head + index) & (self.slots.len() - 1)
    }

    /// Returns the item at `index` from the front.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<&T> {
        if index >= self.len {
            return None;
        }
        self.slots.get(self.slot(index))
    }

    /// Returns the item at `index` from the front.
    #[inline]
    pub(crate) fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        if index >= self.len {
            return None;
        }
        let slot = self.slot(index);
        self.slots.get_mut(slot)
    }

    /// Returns the item at `index` from the front, which must exist.
    #[inline(always)]
    pub(crate) fn at(&self, index: usize) -> &T {
        debug_assert!(index < self.len, "the item exists");
        &self.slots[self.slot(index)]
    }

    /// Returns the item at `index` from the front, which must exist.
    #[inline(always)]
    pub(crate) fn at_mut(&mut self, index: usize) -> &mut T {
        debug_assert!(index < self.len, "the item exists");
        let slot = self.slot(index);
        &mut self.slots[slot]
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, thing: T) {
        if self.len == self.slots.len() {
            self.grow();
        }
        let slot = self.slot(self.len);
        forget(replace(&mut self.slots[slot], thing));
        self.len += 1;
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<T> {
        let first = self.get_mut(0)?.take();
        self.drop_first();
        Some(first)
    }

    /// Releases the first slot, whose item must need no drop. The ring must not be empty.
    #[inline]
    pub(crate) fn drop_first(&mut self) {
        debug_assert!(self.len > 0, "the ring is not empty");
        self.head = self.slot(1);
        self.len -= 1;
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len).filter_map(|index| self.get(index))
    }

    #[cold]
    fn grow(&mut self) {
        let head = self.slot(0);
        self.slots.rotate_left(head);
        self.head = 0;
        self.slots.append(&mut vacant(self.len));
    }
}

fn vacant<T: Vacant>(count: usize) -> Vec<T> {
    std::iter::repeat_with(|| T::VACANT).take(count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    #[test]
    fn ring_buffer_matches_vec_deque() {
        let (mut ring, mut known) = (RingBuffer::new(), VecDeque::new());
        let mut next = 0_u32;
        for round in 0..300_usize {
            for _ in 0..round * 7 % 61 {
                ring.push(next);
                known.push_back(next);
                next += 1;
            }
            for _ in 0..round * 5 % 59 {
                assert_eq!(ring.pop(), known.pop_front());
            }
            assert!(ring.iter().eq(&known));
            assert_eq!(ring.len(), known.len());
            for index in [0, 1, 17] {
                assert_eq!(ring.get(index), known.get(index));
                assert_eq!(ring.get_mut(index), known.get_mut(index));
            }
        }
    }
}
