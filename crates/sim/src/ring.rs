//! A queue of things that come and go all the time, in one piece of memory.

use std::mem::{forget, replace};

/// Grows to what was ever in it, a power of two: an index is one operation away.
#[derive(Debug)]
pub(crate) struct RingBuffer<T> {
    slots: Vec<T>,
    head: usize,
    len: usize,
}

/// What can be in a ring. A slot that holds nothing has what is vacant, which needs no drop and is
/// written over without a look: an `Option` would be asked at each step what it is.
pub(crate) trait Vacant: Sized {
    const VACANT: Self;

    /// Takes it out of its slot.
    #[inline]
    fn take(&mut self) -> Self {
        replace(self, Self::VACANT)
    }
}

impl Vacant for u32 {
    const VACANT: Self = 0;

    /// A copy does.
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

    /// The one behind so many others.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<&T> {
        if index >= self.len {
            return None;
        }
        self.slots.get(self.slot(index))
    }

    /// The one behind so many others.
    #[inline]
    pub(crate) fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        if index >= self.len {
            return None;
        }
        let slot = self.slot(index);
        self.slots.get_mut(slot)
    }

    /// The one behind so many others, which there must be.
    #[inline(always)]
    pub(crate) fn at(&self, index: usize) -> &T {
        debug_assert!(index < self.len, "there is one");
        &self.slots[self.slot(index)]
    }

    /// The one behind so many others, which there must be.
    #[inline(always)]
    pub(crate) fn at_mut(&mut self, index: usize) -> &mut T {
        debug_assert!(index < self.len, "there is one");
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

    /// Gives the slot of the first free, from which everything was taken that needs a drop. There
    /// must be one.
    #[inline]
    pub(crate) fn drop_first(&mut self) {
        debug_assert!(self.len > 0, "there is a first");
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
    fn it_is_a_queue() {
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
