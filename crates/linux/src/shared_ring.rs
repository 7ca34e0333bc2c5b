//! A ring that we share with the kernel, as an AF_XDP socket has four, without the kernel: it has
//! one producer and one consumer, and one of the two is us.
//!
//! Positions count on for ever and wrap at 2^32; a slot is the position modulo the ring, whose
//! slots are a power of two. Whoever moves a position does so after it is done with the slots
//! before it (release), and whoever sees the position sees what was done (acquire).

use std::sync::Arc;

/// A 32-bit word that both sides see.
pub trait Word {
    fn load_relaxed(&self) -> u32;
    fn load_acquire(&self) -> u32;
    fn store_release(&self, value: u32);
}

/// The memory of one ring, the kernel's or a test's.
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

/// Our end of a ring that we fill: TX and FILL.
#[derive(Debug)]
pub(crate) struct Producer<M> {
    memory: M,
    /// The position of the next entry.
    next: u32,
    /// Where the other side was when we last looked.
    consumed: u32,
}

impl<M: Memory> Producer<M> {
    /// The end of a ring, which goes on where its positions stand.
    pub(crate) fn new(memory: M) -> Self {
        Self {
            consumed: memory.consumer().load_acquire(),
            next: memory.producer().load_relaxed(),
            memory,
        }
    }

    /// Puts `entry` in, not yet visible to the other side; `false` if the ring is full.
    #[inline]
    pub(crate) fn push(&mut self, entry: M::Entry) -> bool {
        if self.room(1) == 0 {
            return false;
        }
        self.memory.write(self.next, entry);
        self.next = self.next.wrapping_add(1);
        true
    }

    /// Slots that can be filled, up to `wanted`. Looks at the other side only when there seem to be
    /// fewer.
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

    /// Shows the other side everything that was pushed.
    #[inline]
    pub(crate) fn publish(&mut self) {
        self.memory.producer().store_release(self.next);
    }

    pub(crate) fn memory(&self) -> &M {
        &self.memory
    }
}

/// Our end of a ring that we empty: COMPLETION and RX.
#[derive(Debug)]
pub(crate) struct Consumer<M> {
    memory: M,
    /// The position of the next entry.
    next: u32,
    /// Where the other side was when we last looked.
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

    /// Takes the oldest entry. Its slot stays ours until [`release`](Self::release).
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<M::Entry> {
        if self.waiting() == 0 {
            return None;
        }
        let entry = self.memory.read(self.next);
        self.next = self.next.wrapping_add(1);
        Some(entry)
    }

    /// Entries that can be taken, as far as we looked; looks again when there seem to be none.
    #[inline]
    pub(crate) fn waiting(&mut self) -> u32 {
        if self.produced == self.next {
            self.produced = self.memory.producer().load_acquire();
        }
        // Never more than the ring has, whatever the other side says.
        let ahead = self.produced.wrapping_sub(self.next);
        if ahead > self.memory.slots() {
            self.produced = self.next;
            return 0;
        }
        ahead
    }

    /// Gives the slots of everything that was taken back to the other side.
    #[inline]
    pub(crate) fn release(&mut self) {
        self.memory.consumer().store_release(self.next);
    }
}

/// Entries of a ring that the consumer has not taken, for whoever looks.
pub(crate) fn pending(memory: &impl Memory) -> u32 {
    let consumed = memory.consumer().load_acquire();
    memory.producer().load_relaxed().wrapping_sub(consumed)
}
