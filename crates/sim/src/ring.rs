//! A queue of things that come and go all the time, in one piece of memory.

/// Grows to what was ever in it, a power of two: an index is one operation away.
#[derive(Debug)]
pub(crate) struct Ring<T> {
    slots: Vec<Option<T>>,
    head: usize,
    len: usize,
}

impl<T> Ring<T> {
    pub(crate) fn new() -> Self {
        let slots = std::iter::repeat_with(|| None).take(16).collect();
        Self {
            slots,
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
        self.slots.get(self.slot(index))?.as_ref()
    }

    /// The one behind so many others.
    #[inline]
    pub(crate) fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        if index >= self.len {
            return None;
        }
        let slot = self.slot(index);
        self.slots.get_mut(slot)?.as_mut()
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, thing: T) {
        if self.len == self.slots.len() {
            self.grow();
        }
        let slot = self.slot(self.len);
        self.slots[slot] = Some(thing);
        self.len += 1;
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<T> {
        let slot = self.head & (self.slots.len() - 1);
        let first = self.slots.get_mut(slot)?.take()?;
        self.head = slot + 1;
        self.len -= 1;
        Some(first)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len).filter_map(|index| self.get(index))
    }

    #[cold]
    fn grow(&mut self) {
        let head = self.slot(0);
        self.slots.rotate_left(head);
        self.head = 0;
        self.slots.resize_with(2 * self.len, || None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    #[test]
    fn it_is_a_queue() {
        let (mut ring, mut known) = (Ring::new(), VecDeque::new());
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
