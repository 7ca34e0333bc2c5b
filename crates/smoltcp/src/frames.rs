//! Where the bytes of packets are.

use alloc::vec;
use alloc::vec::Vec;

use smoltcp::phy::PacketMeta;
use taut_path::{DropReason, Frame, Packet, PacketSink};

/// Buffers of one stack, on one thread: no lock for each frame. A buffer is allocated when it is
/// first used, and grows where a stack writes more than its device said.
pub(crate) struct Frames {
    buffers: Vec<Buffer>,
    free: Vec<Frame>,
    most_frames: u32,
    bytes_each: usize,
}

/// What a stack wrote, and what it said of it.
#[derive(Default)]
pub(crate) struct Buffer {
    space: Vec<u8>,
    length: usize,
    pub(crate) meta: PacketMeta,
}

impl Buffer {
    /// Room for `length` bytes, which it has from then on.
    pub(crate) fn room(&mut self, length: usize) -> &mut [u8] {
        if self.space.len() < length {
            self.space.resize(length, 0);
        }
        self.length = length;
        &mut self.space[..length]
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.space[..self.length]
    }
}

impl Frames {
    pub(crate) fn new(most_frames: u32, bytes_each: usize) -> Self {
        Self {
            buffers: Vec::new(),
            free: Vec::new(),
            most_frames,
            bytes_each,
        }
    }

    pub(crate) fn take(&mut self) -> Option<Frame> {
        self.free.pop().or_else(|| self.add())
    }

    fn add(&mut self) -> Option<Frame> {
        let index = self.buffers.len() as u32;
        (index < self.most_frames).then(|| {
            self.buffers.push(Buffer {
                space: vec![0; self.bytes_each],
                ..Buffer::default()
            });
            Frame::new(index)
        })
    }

    pub(crate) fn give_back(&mut self, frame: Frame) {
        self.free.push(frame);
    }

    pub(crate) fn buffer_mut(&mut self, frame: &Frame) -> &mut Buffer {
        &mut self.buffers[frame.index() as usize]
    }
}

impl PacketSink for Frames {
    fn freed(&mut self, packet: Packet) {
        self.give_back(packet.into_frame());
    }

    fn dropped(&mut self, packet: Packet, _: DropReason) {
        self.give_back(packet.into_frame());
    }
}
