//! Storage of the contents of a queue's packets.

use taut_path::{DropReason, Frame, Packet, PacketSink};

use crate::ring::RingBuffer;
use crate::sys::fetch;

/// This many items of one cache line each fit into a second-level cache with room to spare.
const CACHED_THINGS: usize = 1_024;

/// The contents of a queue's packets, indexed by frame. Never shrinks.
#[derive(Debug)]
pub(crate) struct Store<T> {
    things: Vec<T>,
    /// FIFO order: a long queue then accesses memory sequentially, which hardware prefetches.
    free: RingBuffer<u32>,
}

impl<T: Copy> Store<T> {
    pub fn new() -> Self {
        Self {
            things: Vec::new(),
            free: RingBuffer::new(),
        }
    }

    /// Stores an item. Returns the frame of its packet.
    #[inline(always)]
    pub fn put(&mut self, thing: &T) -> Frame {
        let index = match self.free.pop() {
            Some(index) => {
                self.things[index as usize] = *thing;
                self.fetch_next_free();
                index
            }
            None => {
                self.things.push(*thing);
                (self.things.len() - 1) as u32
            }
        };
        Frame::new(index)
    }

    /// Returns the item of a packet.
    #[inline(always)]
    pub fn of(&self, packet: &Packet) -> &T {
        &self.things[packet.frame().index() as usize]
    }

    /// Returns the item of a packet for modification.
    pub fn of_mut(&mut self, packet: &Packet) -> &mut T {
        &mut self.things[packet.frame().index() as usize]
    }

    /// Prefetches the next free item if the store exceeds the cache.
    #[inline]
    fn fetch_next_free(&self) {
        if self.things.len() > CACHED_THINGS
            && let Some(&next) = self.free.get(0)
            && let Some(thing) = self.things.get(next as usize)
        {
            fetch(thing);
        }
    }

    /// Prefetches the item of a frame if the store exceeds the cache.
    #[inline]
    pub fn fetch(&self, frame: u32) {
        if self.things.len() > CACHED_THINGS
            && let Some(thing) = self.things.get(frame as usize)
        {
            fetch(thing);
        }
    }

    /// Releases the item of a packet.
    #[inline]
    pub fn release(&mut self, packet: Packet) {
        self.free.push(packet.into_frame().index());
    }
}

impl<T: Copy> PacketSink for Store<T> {
    #[inline]
    fn freed(&mut self, packet: Packet) {
        self.release(packet);
    }

    fn dropped(&mut self, packet: Packet, _reason: DropReason) {
        self.release(packet);
    }
}
