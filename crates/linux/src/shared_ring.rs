//! A ring shared with the kernel, as an AF_XDP socket has four. It has one producer and one
//! consumer, one of which is the kernel; tests replace it.
//!
//! Positions wrap at 2^32; a slot is the position modulo the ring, whose slots are a power of two.
//! A side advances its position after it has finished with the slots before it (release). The other
//! side reads the position first (acquire), and then sees these accesses.

use std::sync::Arc;

/// A 32-bit word shared by both sides.
pub trait Word {
    fn load_relaxed(&self) -> u32;
    fn load_acquire(&self) -> u32;
    fn store_release(&self, value: u32);
}

/// The memory of one ring, of the kernel or of a test.
pub trait Memory {
    type Word: Word;
    type Entry: Copy;

    fn producer(&self) -> &Self::Word;
    fn consumer(&self) -> &Self::Word;
    fn flags(&self) -> &Self::Word;
    /// A power of two.
    fn slots(&self) -> u32;
    /// Reads a slot, taken modulo the ring.
    fn read(&self, position: u32) -> Self::Entry;
    /// Writes a slot, taken modulo the ring.
    fn write(&self, position: u32, entry: Self::Entry);
}

impl<M: Memory> Memory for Arc<M> {
    type Word = M::Word;
    type Entry = M::Entry;

    fn producer(&self) -> &M::Word {
        (**self).producer()
    }

    fn consumer(&self) -> &M::Word {
        (**self).consumer()
    }

    fn flags(&self) -> &M::Word {
        (**self).flags()
    }

    fn slots(&self) -> u32 {
        (**self).slots()
    }

    fn read(&self, position: u32) -> M::Entry {
        (**self).read(position)
    }

    fn write(&self, position: u32, entry: M::Entry) {
        (**self).write(position, entry);
    }
}

/// The producer of a ring: TX and FILL.
#[derive(Debug)]
pub(crate) struct Producer<M> {
    memory: M,
    /// The position of the next entry.
    next: u32,
    /// Position of the other side when last read.
    consumed: u32,
}

impl<M: Memory> Producer<M> {
    /// Continues a ring at its current positions.
    pub(crate) fn new(memory: M) -> Self {
        Self {
            consumed: memory.consumer().load_acquire(),
            next: memory.producer().load_relaxed(),
            memory,
        }
    }

    /// Adds `entry`, not yet visible to the other side; `false` if the ring is full.
    #[inline]
    pub(crate) fn push(&mut self, entry: M::Entry) -> bool {
        if self.room(1) == 0 {
            return false;
        }
        self.memory.write(self.next, entry);
        self.next = self.next.wrapping_add(1);
        true
    }

    /// Returns the number of free slots, up to `wanted`. Reads the other side's position only if
    /// fewer slots appear free.
    #[inline]
    pub(crate) fn room(&mut self, wanted: u32) -> u32 {
        let free = |of: &Self| {
            let filled = of.next.wrapping_sub(of.consumed);
            of.memory.slots().saturating_sub(filled)
        };
        if free(self) < wanted {
            self.consumed = self.memory.consumer().load_acquire();
        }
        free(self).min(wanted)
    }

    /// Publishes all pushed entries to the other side.
    #[inline]
    pub(crate) fn publish(&mut self) {
        self.memory.producer().store_release(self.next);
    }

    pub(crate) fn memory(&self) -> &M {
        &self.memory
    }
}

/// The consumer of a ring: COMPLETION and RX.
#[derive(Debug)]
pub(crate) struct Consumer<M> {
    memory: M,
    /// The position of the next entry.
    next: u32,
    /// Position of the other side when last read.
    produced: u32,
}

impl<M: Memory> Consumer<M> {
    pub(crate) fn new(memory: M) -> Self {
        let next = memory.consumer().load_relaxed();
        Self {
            produced: next,
            next,
            memory,
        }
    }

    /// Takes the oldest entry. Its slot is not released before [`release`](Self::release).
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<M::Entry> {
        if self.waiting() == 0 {
            return None;
        }
        let entry = self.memory.read(self.next);
        self.next = self.next.wrapping_add(1);
        Some(entry)
    }

    /// Returns the number of entries that can be taken. Reads the other side's position only if
    /// there appear to be none.
    #[inline]
    pub(crate) fn waiting(&mut self) -> u32 {
        if self.produced == self.next {
            self.produced = self.memory.producer().load_acquire();
        }
        // At most the slots of the ring, even if the position of the other side is invalid.
        let ahead = self.produced.wrapping_sub(self.next);
        if ahead > self.memory.slots() {
            self.produced = self.next;
            return 0;
        }
        ahead
    }

    /// Releases the slots of all taken entries to the other side.
    #[inline]
    pub(crate) fn release(&mut self) {
        self.memory.consumer().store_release(self.next);
    }
}

/// Returns the entries of a ring that the consumer has not taken.
pub(crate) fn pending(memory: &impl Memory) -> u32 {
    let consumed = memory.consumer().load_acquire();
    memory.producer().load_relaxed().wrapping_sub(consumed)
}
