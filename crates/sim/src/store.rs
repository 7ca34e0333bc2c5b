//! Storage of the contents of a queue's packets.

use std::collections::VecDeque;

use taut_path::{DropReason, Frame, Packet, PacketSink};

/// The contents of a queue's packets, indexed by frame. Never shrinks.
#[derive(Debug)]
pub(crate) struct Store<T> {
    things: Vec<T>,
    /// FIFO order: a long queue then accesses memory sequentially, which hardware prefetches.
    free: VecDeque<u32>,
}

impl<T: Copy> Store<T> {
    pub fn new() -> Self {
        Self {
            things: Vec::new(),
            free: VecDeque::new(),
        }
    }

    /// Stores an item. Returns the frame of its packet.
    #[inline(always)]
    pub fn put(&mut self, thing: &T) -> Frame {
        let index = match self.free.pop_front() {
            Some(index) => {
                self.things[index as usize] = *thing;
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

    /// Releases the item of a packet.
    #[inline]
    pub fn release(&mut self, packet: Packet) {
        self.free.push_back(packet.into_frame().index());
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
