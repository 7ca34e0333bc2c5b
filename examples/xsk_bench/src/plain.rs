//! A loop without a queue, as in a library's own examples.

use taut_linux::frame_ring::TxFrame;

use crate::bench::Sender;
use crate::packet::{self, BYTES, Stamp};
use crate::world;
use crate::xsk::{Result, Shape, Xsk};

/// A socket, and the packets that went in and out.
pub struct Plain<X> {
    rings: X,
    shape: Shape,
    /// Reused for each iteration.
    batch: Vec<TxFrame>,
    pub sent: u64,
    pub completed: u64,
}

impl<X: Xsk> Plain<X> {
    pub fn open(shape: Shape) -> Result<Self> {
        Ok(Self {
            rings: world::open(shape)?,
            shape,
            batch: Vec::new(),
            sent: 0,
            completed: 0,
        })
    }

    /// One iteration: inserts up to `packets` more, rings the doorbell and reads completions.
    #[inline]
    pub fn turn(&mut self, packets: u64) {
        let room = self.shape.slots.saturating_sub(self.rings.untaken());
        let frames = u64::from(self.shape.frames);
        let numbers = self.sent..self.sent + packets.min(room.into());
        self.batch.clear();
        self.batch.extend(numbers.map(|number| TxFrame {
            frame: (number % frames) as u32,
            bytes: BYTES,
        }));
        self.sent += self.rings.push(&self.batch) as u64;
        // The next iteration rings it again.
        let _ = self.rings.wake();
        let completed = &mut self.completed;
        self.rings.read(self.shape.slots, |_| *completed += 1);
    }

    pub fn in_flight(&self) -> u64 {
        self.sent - self.completed
    }

    /// Stamps the next `packets`, if their frames are not in the device.
    pub fn stamp(&mut self, packets: u64, urgent_ns: u64) -> u64 {
        let free = u64::from(self.shape.frames).saturating_sub(self.in_flight());
        let packets = packets.min(free);
        for number in self.sent..self.sent + packets {
            let urgent_ns = if number == self.sent { urgent_ns } else { 0 };
            let frame = (number % u64::from(self.shape.frames)) as u32;
            let stamp = Stamp { number, urgent_ns };
            self.rings
                .with_bytes(frame, BYTES, |bytes| packet::write(bytes, stamp));
        }
        packets
    }
}

impl<X: Xsk> Sender for Plain<X> {
    #[inline]
    fn flood(&mut self, packets: u64) -> Result<()> {
        self.turn(packets - self.sent);
        Ok(())
    }

    /// Keeps the ring full. An urgent packet is the next one that goes into the ring.
    fn pace(&mut self, urgent_ns: u64) -> Result<Option<u64>> {
        let packets = self.stamp(self.shape.slots.into(), urgent_ns);
        let (before, in_flight) = (self.sent, self.in_flight());
        self.turn(packets);
        let is_sent = self.sent > before && urgent_ns > 0;
        Ok(is_sent.then_some(in_flight * u64::from(BYTES)))
    }

    fn completed(&self) -> u64 {
        self.completed
    }
}
