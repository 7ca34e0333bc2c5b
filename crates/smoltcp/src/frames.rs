//! Where the bytes of packets are.

use alloc::vec;
use alloc::vec::Vec;

use taut_path::{DropReason, Frame, Packet, PacketSink};

/// Buffers of one stack, on one thread: no lock for each frame, and a buffer grows where a stack writes
/// more than its device said.
pub(crate) struct Frames {
    buffers: Vec<Vec<u8>>,
    free: Vec<Frame>,
    pub(crate) dropped_packets: u64,
}

impl Frames {
    pub(crate) fn new(count: u32, bytes: usize) -> Self {
        Self {
            buffers: vec![vec![0; bytes]; count as usize],
            free: (0..count).rev().map(Frame::new).collect(),
            dropped_packets: 0,
        }
    }

    pub(crate) fn take(&mut self) -> Option<Frame> {
        self.free.pop()
    }

    pub(crate) fn give_back(&mut self, frame: Frame) {
        self.free.push(frame);
    }

    pub(crate) fn free(&self) -> usize {
        self.free.len()
    }

    /// The first `bytes` of a frame.
    pub(crate) fn bytes_mut(&mut self, frame: &Frame, bytes: usize) -> &mut [u8] {
        let buffer = &mut self.buffers[frame.index() as usize];
        if buffer.len() < bytes {
            buffer.resize(bytes, 0);
        }
        &mut buffer[..bytes]
    }
}

impl PacketSink for Frames {
    fn freed(&mut self, packet: Packet) {
        self.give_back(packet.into_frame());
    }

    fn dropped(&mut self, packet: Packet, _: DropReason) {
        self.dropped_packets += 1;
        self.give_back(packet.into_frame());
    }
}
