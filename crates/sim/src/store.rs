//! What the packets of a queue stand for.

use taut_path::{DropReason, Frame, Packet, PacketSink};

use crate::ring::RingBuffer;
use crate::sys::fetch;

/// So many things, of a line of the cache each, surely fit into a second-level cache beside the
/// rest.
const CACHED_THINGS: usize = 1_024;

/// The things that a queue's packets carry, by frame. Grows to what the queue ever held.
#[derive(Debug)]
pub(crate) struct Store<T> {
    things: Vec<T>,
    /// The one that was given back first is taken first: a long queue then goes through memory in
    /// order, which caches read ahead.
    free: RingBuffer<u32>,
}

impl<T: Copy> Store<T> {
    pub fn new() -> Self {
        Self {
            things: Vec::new(),
            free: RingBuffer::new(),
        }
    }

    /// Puts a thing down. Its packet has the frame.
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

    /// What a packet carries.
    #[inline(always)]
    pub fn of(&self, packet: &Packet) -> &T {
        &self.things[packet.frame().index() as usize]
    }

    /// The same, to be changed.
    pub fn of_mut(&mut self, packet: &Packet) -> &mut T {
        &mut self.things[packet.frame().index() as usize]
    }

    /// Fetches where the next thing is put down, if there is much.
    #[inline]
    fn fetch_next_free(&self) {
        if self.things.len() > CACHED_THINGS
            && let Some(&next) = self.free.get(0)
            && let Some(thing) = self.things.get(next as usize)
        {
            fetch(thing);
        }
    }

    /// Fetches what the packet of a frame carries, if there is much.
    #[inline]
    pub fn fetch(&self, frame: u32) {
        if self.things.len() > CACHED_THINGS
            && let Some(thing) = self.things.get(frame as usize)
        {
            fetch(thing);
        }
    }

    /// Takes back a packet that nobody wanted.
    #[inline]
    pub fn take_back(&mut self, packet: Packet) {
        self.free.push(packet.into_frame().index());
    }
}

impl<T: Copy> PacketSink for Store<T> {
    #[inline]
    fn freed(&mut self, packet: Packet) {
        self.take_back(packet);
    }

    fn dropped(&mut self, packet: Packet, _reason: DropReason) {
        self.take_back(packet);
    }
}
