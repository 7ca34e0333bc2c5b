//! A ring shared with the kernel, as an AF_XDP socket has four. It has one producer and one
//! consumer, one of which is the kernel; tests replace it.
//!
//! Positions wrap at 2^32; a slot is the position modulo the ring, whose slots are a power of two.
//! A side advances its position after it has finished with the slots before it (release). The other
//! side reads the position first (acquire), and then sees these accesses.

use std::cell::Cell;
use std::sync::Arc;

/// The memory of one ring, of the kernel or of a test.
pub trait Memory {
    type Entry: Copy;

    /// Returns the position of the producer (acquire).
    fn produced(&self) -> u32;
    /// Returns the position of the consumer (acquire).
    fn consumed(&self) -> u32;
    /// Sets the position of the producer (release).
    fn publish(&self, position: u32);
    /// Sets the position of the consumer (release).
    fn release(&self, position: u32);
    /// Returns `true` if the kernel needs the doorbell to continue.
    fn needs_wakeup(&self) -> bool;
    /// A power of two.
    fn slots(&self) -> u32;
    /// Reads a slot, taken modulo the ring.
    fn read(&self, position: u32) -> Self::Entry;
    /// Writes a slot, taken modulo the ring.
    fn write(&self, position: u32, entry: Self::Entry);
}

/// The producer of a ring: TX and FILL.
#[derive(Debug)]
pub(crate) struct Producer<M> {
    memory: Arc<M>,
    /// The position of the next entry.
    next: u32,
    /// Position of the other side when last read.
    consumed: Cell<u32>,
}

impl<M: Memory> Producer<M> {
    /// Continues a ring at its current positions.
    pub(crate) fn new(memory: Arc<M>) -> Self {
        Self {
            consumed: Cell::new(memory.consumed()),
            next: memory.produced(),
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
    pub(crate) fn room(&self, wanted: u32) -> u32 {
        let free = || {
            let filled = self.next.wrapping_sub(self.consumed.get());
            self.memory.slots().saturating_sub(filled)
        };
        if free() < wanted {
            self.consumed.set(self.memory.consumed());
        }
        free().min(wanted)
    }

    /// Publishes all pushed entries to the other side.
    #[inline]
    pub(crate) fn publish(&mut self) {
        self.memory.publish(self.next);
    }

    /// Returns `true` if the kernel needs the doorbell to continue.
    pub(crate) fn needs_wakeup(&self) -> bool {
        self.memory.needs_wakeup()
    }

    /// Returns the published entries that the consumer has not taken.
    pub(crate) fn pending(&self) -> u32 {
        let consumed = self.consumed();
        self.memory.produced().wrapping_sub(consumed)
    }

    /// Returns the position up to which the consumer took entries.
    #[inline]
    pub(crate) fn consumed(&self) -> u32 {
        self.memory.consumed()
    }
}

/// The consumer of a ring: COMPLETION and RX.
#[derive(Debug)]
pub(crate) struct Consumer<M> {
    memory: Arc<M>,
    /// The position of the next entry.
    next: u32,
    /// Position of the other side when last read.
    produced: u32,
}

impl<M: Memory> Consumer<M> {
    pub(crate) fn new(memory: Arc<M>) -> Self {
        let next = memory.consumed();
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
            self.produced = self.memory.produced();
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
        self.memory.release(self.next);
    }

    /// Returns the position up to which the producer published entries.
    #[inline]
    pub(crate) fn produced(&self) -> u32 {
        self.memory.produced()
    }
}
